/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"
#include "core/quirk-words.h"
#include "ctl/events.h"
#include "ctl/kernel-log.h"

#define REDACTED "(redacted)"

/*
 * What is nobody's business, taken out of the data before anything is told of it: report --redact. Serials go by number, so
 * that two of the same are still seen to be the same.
 */
void redact_all(struct views *views, struct events *events, struct kernel_log *kernel);
/* Names of files that the administrator has given; those that came with packages stay. */
void redact_quirks(struct quirk_facts *q);
