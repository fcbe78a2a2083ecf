/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Signs of trouble in the kernel's log; trials. */
bool trouble_sign(struct manager *m, const struct sign *s, usec_t usec, bool live);
void trouble_begin(struct entry *e, enum driver d); /* a new account, for this driver */
void trouble_forget(struct entry *e); /* a user wants uas again: its trouble on usb-storage does not
                                         keep it there */
void trouble_switched(struct entry *e); /* a switch has ended, with or without success */
void trouble_judge(struct entry *e, struct facts *f);
void trouble_trial_over(struct entry *e);
void trouble_sleep(struct manager *m); /* the machine is about to sleep, or awake */
void trouble_adopt(struct entry *e);
void trouble_came(struct entry *e); /* called after it was announced */
void trouble_gone(struct entry *e);
void trouble_end(const struct manager *m); /* uasd ends */
