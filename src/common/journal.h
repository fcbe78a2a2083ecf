/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <sys/uio.h>

#define JOURNAL_FIELDS_MAX 24

/*
 * Sends a message to journald, in its native protocol. fields: each "NAME=value" without a newline. Returns 0 or -errno, -EAGAIN
 * if journald's queue is full. sd_journal_sendv() would do it as well. But udev's helper runs at each event of a USB disk, and
 * to load libsystemd takes several times as long as its work.
 */
int journal_send(const struct iovec *fields, size_t n);
