/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/*
 * The hooks in /etc/uasd/event.d, which report an event to people: uasd(8), EVENTS. Without a hook
 * none of this does anything. uasd writes the facts of an event to a file in /run/uasd/event. The
 * unit uasd-event@.service starts `uasd --event FILE` for it; without systemd uasd does so itself.
 * That removes the file before it runs the hooks: no hook gets the same event twice.
 */
enum hook_event {
        HOOK_EVENT_DISTRUSTED,
        HOOK_EVENT_ROLLED_BACK,
        HOOK_EVENT_FAILED,
        HOOK_EVENT_GAVE_UP,
        HOOK_EVENT_TRIAL_PASSED,
        HOOK_EVENT_SLOW_LINK,
        _HOOK_EVENT_MAX,
};

/* message_id: of the journal; only some are events for the hooks. Others: as in report.c. */
void event_hooks_ending(struct entry *e, const char *message_id, const char *text, const char *from,
                        const char *to);
/* A disk is new. */
void event_hooks_link(struct entry *e);
/* The disk is switched to this driver, or may be: an event like an earlier one is another event
 * then. Returns the value for MARK_TOLD, which the caller writes. */
unsigned event_hooks_again(struct entry *e, enum driver to);
/* At the start of uasd: events that an earlier one has left. */
void event_hooks_start(struct manager *m);

/* In the process `uasd --event FILE`: runs the hooks for this file. */
void event_hooks_run(const struct manager *m, const char *file);
