/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/bus/answer.h"
#include "daemon/manager.h"

/* Reserves a disk for one program. Answers the call later. Returns 0 or -errno. */
int lease_new(struct entry *e, struct bus_call *call);
/* For a new disk that an earlier uasd had leased. By its mark it goes back to `restore`, or was not
 * leased: DRIVER_NONE. */
void lease_adopt(struct entry *e, enum driver restore);
/* Returns true as long as the holder has it. The machine decides how it goes back. */
bool lease_held(const struct entry *e);
bool lease_is_of(const struct entry *e, struct bus_call *call);
enum driver lease_restores(const struct entry *e);
/* Returns the child that has the claim; 0: none. */
pid_t lease_pid(const struct entry *e);
/* Returns true if the claim must be released first: then the switch begins later. */
bool lease_releases(struct entry *e, const struct action *a);
/* Called after every step of the machine. */
void lease_follow(struct entry *e);
/* Returns true if the request under the lease has ended, but the claim is not back yet. */
bool lease_returns(const struct entry *e);
/* Called when the disk was unplugged. */
void lease_gone(struct entry *e);
/* The record of the lease stays. */
void lease_free(struct entry *e);
