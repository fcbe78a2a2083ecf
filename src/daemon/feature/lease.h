/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* A program has a disk for itself. */
/* Answers the call, later. 0 or -errno. */
int lease_new(struct entry *e, sd_bus_message *call);
/* A new disk that an earlier uasd had leased: it goes back. */
void lease_adopt(struct entry *e);
/* True as long as its holder has it; the machine decides how it goes back. */
bool lease_held(const struct entry *e);
bool lease_is_of(const struct entry *e, sd_bus_message *message);
enum driver lease_restores(const struct entry *e);
/* The child that has the claim of it; 0: none. */
pid_t lease_pid(const struct entry *e);
/* True if the claim has to be released first: the switch begins when it is. */
bool lease_releases(struct entry *e, const struct action *a);
/* After every step of the machine. */
void lease_settle(struct entry *e);
/* What was asked for under it has ended, and the claim is not back yet. */
bool lease_returns(const struct entry *e);
/* It was unplugged. */
void lease_gone(struct entry *e);
/* What is on record of it stays. */
void lease_free(struct entry *e);
