/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/facts.h"

/*
 * What is kept of one disk at one port over boots: a trial under way, a trial passed, or distrust. A line of
 * KEY=VALUE words, the reason last:
 *
 *     state=distrusted firmware=0114 kernel=6.1.0-56-amd64 boot=8f3c... date=2026-11-20T15:45:07Z failed=1 reason=it had to be
 * reset
 */
enum history_state {
        HISTORY_TRIAL, /* on uas since `boot`, and under watch */
        HISTORY_PASSED,
        HISTORY_DISTRUSTED,
        HISTORY_ENDED, /* a trial that ended without a result: unplugged, or an orderly shutdown */
        _HISTORY_MAX,
};

#define HISTORY_LINE_MAX 1024

struct history {
        enum history_state state;
        uint16_t firmware;
        char kernel[65]; /* as uname(2) says */
        char boot[40];   /* boot id */
        char date[24];   /* UTC; for people, nothing is decided by it */
        bool lost;       /* the way to the data was gone: holds on any kernel */
        bool failed;     /* it failed in a trial: policy uas does not bring it back by itself */
        bool distrusted; /* of a trial: it was distrusted before, and will be after */
        char reason[160];
};

int history_parse(const char *value, struct history *ret);
/* What is held against a disk, or may be yet: the last to be forgotten for want of room. */
bool history_matters(const struct history *h);
/* Ends a trial of this boot without a result. Returns false, and changes nothing, if it is no such trial. */
bool history_end_trial(struct history *h, const char *boot);
/* The line without its key; -ENOBUFS if it does not fit. */
int history_format(const struct history *h, char *ret, size_t size);

/* The machine now. */
struct here {
        char kernel[65];
        char boot[40];
};

/* "VID:PID:SERIAL", what a line cannot hold escaped, so that no device writes lines of its own. Returns ret. */
char *history_usb_id(const struct facts *f, char *ret, size_t size);
#define USB_ID_MAX (USB_STRING_MAX * 4 + 16)

/*
 * The key of this disk at this port: "VID:PID:SERIAL@0000:00:14.0/ss/1.4". history_key_disk(): without the port, up to and with
 * the '@'.
 */
char *history_key(const struct facts *f, char *ret, size_t size);
char *history_key_disk(const struct facts *f, char *ret, size_t size);
#define HISTORY_KEY_MAX (USB_STRING_MAX * 4 + 128)

/*
 * True if that is "VID:PID:SERIAL", or a key; ret: with VID and PID as they are in a key. The serial stays as it is: what a line
 * cannot hold is escaped in it already.
 */
bool history_id_parse(const char *s, char *ret, size_t size);

const char *history_state_to_string(enum history_state s);

/*
 * What a distrusted disk is distrusted for: "it had to be reset (2026-11-20, firmware 1.14, Linux 6.1.0-56-amd64)"; and the same
 * as a sentence: "UAS failed on 2026-11-20: it had to be reset (firmware 1.14, Linux 6.1.0-56-amd64)." Empty if nothing is known
 * of it. Return ret.
 */
char *history_clause(const struct facts *f, char *ret, size_t size);
char *history_sentence(const struct facts *f, char *ret, size_t size);
#define HISTORY_TEXT_MAX 320

/* What the record comes to here and now, into the facts. h: NULL if there is none. */
void history_judge(const struct history *h, const struct here *here, struct facts *f);
