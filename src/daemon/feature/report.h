/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Write to the journal. */
void report_state(const struct entry *e, enum state before);
void report_unplugged(const struct entry *e, const char *step);
void report_hold(const struct entry *e);
void report_release(const struct entry *e);
void report_distrust(const struct entry *e, const char *reason);
void report_old_initramfs(const struct entry *e);
void report_trouble(const struct entry *e, const struct finding *f);
void report_diagnosis(const struct entry *e); /* it fails under usb-storage */
void report_cleared(const struct entry *e, const char *before);
void report_dropping(const struct entry *e, unsigned times);
void report_trial(const struct entry *e);
/* names: of its disks. Its entry may be gone. */
void report_ejected(const char *interface, const char *names, const char *usb_id, const char *text);
void report_trim(const struct entry *e, bool on, bool force);
void report_trim_of_another(const struct entry *e);
