/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "core/facts.h"
#include "sys/io/roots.h"

/*
 * Fills the facts that usb_disk_read() leaves: quirks parameter, availability of uas, policy (kept,
 * configuration, udev properties), verdict, history, override. Never fails: an unknown fact keeps
 * its default.
 */
void facts_complete(const struct roots *roots, const struct config *c, struct facts *f);
/* Fills of these only the override and the trouble under usb-storage. */
void facts_recall_attachment(const struct roots *roots, struct facts *f);
/* The same from a mark that has been read (sys/state/attachment.h). */
struct attachment_mark;
void facts_take_mark(struct facts *f, const struct attachment_mark *a);
/* Fills of these only the verdict and the history. */
void facts_judge(const struct roots *roots, struct facts *f);
