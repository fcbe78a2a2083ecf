/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/history.h"
#include "sys/io/roots.h"

/*
 * What is kept of disks over boots (core/history.h), a line a disk and port. /etc/uasd/history is what a boot reads, since /var
 * may not be there yet; /var/lib/uasd/history is its copy. A number in both tells which of them is newer, should one
 * of the two not have been writable. Copied into the initramfs it is readable there as well.
 */

/* Fills the facts; never fails: what cannot be read is not known. */
void history_recall(const struct roots *r, struct facts *f);

/* Of a distrusted disk: whether the initramfs has a record that does not distrust it. False without an initramfs of ours, which
 * moves no disk. */
bool history_initramfs_old(const struct roots *r, const struct facts *f);

/* 1 and the record of this disk at this port; 0: none; -errno. */
int history_read(const struct roots *r, const struct facts *f, struct history *ret);

/* Every record with its key, as it stands, until fn fails. 0 or -errno. */
int history_each(const struct roots *r, int (*fn)(const char *key, const struct history *h, void *data), void *data);

/*
 * Every record with its key, and what it comes to with this kernel (NULL: the one that runs) on a disk that still has its
 * firmware. 0 or -errno.
 */
int history_each_judged(const struct roots *r, const char *kernel, void (*fn)(const char *key, const struct facts *f, void *data),
                        void *data);

/* The kernel and the boot of now. */
void history_here(const struct roots *r, struct here *ret);
/* Fills in firmware, kernel, boot and date of now. */
void history_complete(const struct roots *r, const struct facts *f, struct history *h);

/*
 * Keeps the record, with firmware, kernel, boot and date of now filled in. h: NULL takes it away, at this port.
 * Durable on return, in one place at least; -errno if it is not, -ETIMEDOUT if another process keeps the lock.
 */
int history_write(const struct roots *r, const struct facts *f, const struct history *h);
/* Puts on record what history_read() has returned, with the kernel, the boot and the date that it has. NULL: nothing. */
int history_put_back(const struct roots *r, const struct facts *f, const struct history *h);

/* A disk's lines for every port. */
int history_forget(const struct roots *r, const struct facts *f);
/* Those of "VID:PID:SERIAL", or the one of a key. -ENOENT: there is none. */
int history_forget_id(const struct roots *r, const char *id);

/* Trials of this boot end without a result: that of this disk, or all of them (NULL). */
int history_end_trials(const struct roots *r, const struct facts *f);
