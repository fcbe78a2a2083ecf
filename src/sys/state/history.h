/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/history.h"
#include "sys/io/roots.h"

/*
 * Records of disks over boots (core/history.h), one line for each disk and port, stored as in
 * sys/state/store.h. The initramfs contains a copy, too.
 */

/* Fills the facts. Never fails: unreadable records count as unknown. */
void history_recall(const struct roots *roots, struct facts *f);

/*
 * For a distrusted disk: returns true if the initramfs has a record that does not distrust it.
 * False without an initramfs of ours, which moves no disk.
 */
bool history_initramfs_old(const struct roots *roots, const struct facts *f);

/* Returns 1 and the record of this disk at this port, 0 if there is none, or -errno. */
int history_read(const struct roots *roots, const struct facts *f, struct history *ret);

/* Calls fn for every record with its key, unchanged, until fn fails. Returns 0 or -errno. */
int history_each(const struct roots *roots,
                 int (*fn)(const char *key, const struct history *h, void *data), void *data);

/* Returns the running kernel and the present boot. */
void history_here(const struct roots *roots, struct here *ret);
/* history_judge() for them. */
void history_judge_here(const struct roots *roots, const struct history *h, struct facts *f);
/* Fills in the present firmware, kernel, boot and date. */
void history_complete(const struct roots *roots, const struct facts *f, struct history *h);

/*
 * Writes the record, with the present firmware, kernel, boot and date. h: NULL removes it, at this
 * port. On return it is durable in at least one place. Otherwise returns -errno; -ETIMEDOUT if
 * another process keeps the lock.
 */
int history_write(const struct roots *roots, const struct facts *f, const struct history *h);
/* Writes a record of history_read() back, with its own kernel, boot and date. NULL: none. */
int history_put_back(const struct roots *roots, const struct facts *f, const struct history *h);

/* Removes the lines of a disk for every port. */
int history_forget(const struct roots *roots, const struct facts *f);
/* Removes the lines of "VID:PID:SERIAL", or the line of one key. -ENOENT: there is none. */
int history_forget_id(const struct roots *roots, const char *id);

/* Ends trials of this boot without a result: of this disk, or all of them (NULL). */
int history_end_trials(const struct roots *roots, const struct facts *f);
