/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/*
 * Sends a message to journald, in its native protocol: lines "NAME=value\n". Returns 0 or -errno,
 * -EAGAIN if journald's queue is full. sd_journal_sendv() would do it as well. But udev's helper
 * runs at each event of a USB disk, and to load libsystemd takes several times as long as its work.
 */
int journal_send(const char *text, size_t size);
