/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/util.h"
#include "daemon/manager.h"

/* What the kernel's words come to; trials. */
bool trouble_sign(struct manager *m, const struct sign *s, usec_t usec, bool live);
void trouble_begin(struct entry *e);    /* it goes to uas: a new account */
void trouble_switched(struct entry *e); /* a switch has ended, well or not */
void trouble_judge(struct entry *e, struct facts *f);
void trouble_trial_over(struct entry *e);
void trouble_adopt(struct entry *e);
void trouble_came(struct entry *e); /* after it has been announced */
void trouble_gone(struct entry *e);
