/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/config.h"
#include "core/facts.h"

/*
 * The record of one disk at one port over boots: a trial under way, a trial passed, or distrust. A
 * line of KEY=VALUE words, the reason last:
 *
 *     state=distrusted firmware=0114 kernel=6.1.0-56-amd64 boot=8f3c... date=2026-11-20T15:45:07Z
 * failed=1 reason=it had to be reset
 */
enum history_state {
        HISTORY_TRIAL, /* on uas since `boot`, on trial */
        HISTORY_PASSED,
        HISTORY_DISTRUSTED,
        HISTORY_CLEARED, /* it was distrusted, and then failed under usb-storage as well: no
                            distrust */
        HISTORY_ENDED,   /* a trial without a result: the disk was unplugged, or an orderly shutdown
                          */
        _HISTORY_MAX,
};

#define HISTORY_LINE_MAX 1024

struct history {
        enum history_state state;
        uint16_t firmware;
        char kernel[65]; /* as in uname(2) */
        char boot[40];   /* boot id */
        char date[24];   /* UTC; only for people */
        bool lost;       /* the disk could not be reached any more: applies to any kernel */
        bool failed;     /* it failed in a trial: policy uas does not move it to uas again */
        bool distrusted; /* for a trial: it was distrusted before, and is so afterwards */
        char reason[DISTRUST_REASON_MAX];
};

int history_parse(const char *value, struct history *ret);
/* Returns true for distrust or an open trial: such a record is dropped last if there are too many.
 */
bool history_matters(const struct history *h);
/* Ends a trial of this boot without a result. Returns false and changes nothing if it is not such a
 * trial. */
bool history_end_trial(struct history *h, const char *boot);
/* Writes the line without its key; -ENOBUFS if it does not fit. */
int history_format(const struct history *h, char *ret, size_t size);

/* The present kernel and boot. */
struct here {
        char kernel[65];
        char boot[40];
};

/* Writes "VID:PID:SERIAL" with special characters escaped, so that no device can forge a line.
 * history_rule_id(): that of a section of uasd.conf. Returns ret. */
char *history_usb_id(const struct facts *f, char *ret, size_t size);
char *history_rule_id(const struct disk_rule *rule, char *ret, size_t size);
#define USB_ID_MAX (USB_STRING_MAX * 4 + 16)

/* Writes the key of this disk: "VID:PID:SERIAL@0000:00:14.0/ss/1.4". history_key_disk(): up to and
 * with the '@'. */
char *history_key(const struct facts *f, char *ret, size_t size);
char *history_key_disk(const struct facts *f, char *ret, size_t size);
#define HISTORY_KEY_MAX (USB_STRING_MAX * 4 + 128)

/* Returns true if the text is "VID:PID:SERIAL" of this disk, or its key. */
bool history_id_is_of(const char *s, const struct facts *f);

/*
 * Returns true for "VID:PID:SERIAL", or a key; ret: as in a key. The serial has its "=@#" escaped
 * already, which serial_normalize() does not change.
 */
bool history_id_parse(const char *s, char *ret, size_t size);

const char *history_state_to_string(enum history_state v);
int history_state_from_string(const char *s);

/*
 * Write the reason of distrust. The clause is "it had to be reset (2026-11-20, firmware 1.14,
 * Linux 6.1.0-56-amd64)". The sentence is "UAS failed on 2026-11-20: it had to be reset
 * (firmware 1.14, Linux 6.1.0-56-amd64)." Empty if unknown. Return ret.
 */
char *history_clause(const struct facts *f, char *ret, size_t size);
char *history_sentence(const struct facts *f, char *ret, size_t size);
#define HISTORY_TEXT_MAX 640

/* Puts the meaning of the record for the present kernel and boot into the facts. h: NULL if there
 * is none. */
void history_judge(const struct history *h, const struct here *here, struct facts *f);
