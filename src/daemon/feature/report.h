/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Write to the journal. */
void report_state(struct entry *e, enum state before);
void report_unplugged(struct entry *e, const char *step);
void report_hold(struct entry *e);
void report_release(struct entry *e);
void report_distrust(struct entry *e, const char *reason);
void report_old_initramfs(const struct entry *e);
void report_trouble(struct entry *e, const struct finding *f);
void report_diagnosis(struct entry *e); /* it fails under usb-storage */
void report_cleared(struct entry *e, const char *before);
void report_dropping(struct entry *e, unsigned times);
void report_trial(struct entry *e);
/* names: of its disks. Its entry may be gone. */
/* uid asked for it, and may. Without e it is for the disk with that id, without both for all. */
void report_asked(const struct entry *e, const char *id, uid_t uid, const char *verb, bool force,
                  const char *argument);
void report_ejected(const char *interface, const char *names, const char *usb_id, const char *text);
void report_trim(struct entry *e, bool on, bool force);
void report_trim_of_another(struct entry *e);
