/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

/*
 * The entry of a bridge in udev/61-uasd.hwdb: statements of several sources, which may contradict
 * each other. The hwdb does not decide; this module finds what applies to this firmware and this
 * host.
 */
#define DB_SAYS_MAX 8
#define PLATFORM_MAX 256

struct db_says {
        enum verdict verdict;
        uint16_t bcd_min, bcd_max;
        char host[32]; /* "*", or the prefix of a word of the platform */
        char source[80];
        char date[16];
        char note[80];
};

struct db_entry {
        char chip[64];
        struct db_says says[DB_SAYS_MAX];
        size_t n_says;
        bool ruled; /* a local rule or hwdb file sets UASD_VERDICT: that goes before all statements
                     */
        enum verdict rule;
};

struct db_word {
        enum verdict verdict;
        bool conflict;     /* some say good, some bad: the verdict is unknown */
        bool kernel_alone; /* the kernel's own table says bad, and it is the only source */
};

/* Reads one property: returns 1 and its value, 0 if there is none, or -errno. */
typedef int (*db_property_fn)(const void *from, const char *key, char *ret, size_t size);
/* Fills the entry from all properties. Returns 1, or 0 if there are none. */
int db_fill(struct db_entry *ret, db_property_fn get, const void *from);

/* Parses "bad;0100-0210;raspberrypi;Source;2026-11;note". The note may be missing; "*": any
 * firmware. Returns 0 or -EINVAL. */
int db_says_parse(const char *value, struct db_says *ret);

bool db_firmware_fits(const struct db_says *s, uint16_t bcd);
/* platform: words, like "raspberrypi,4-model-b brcm,bcm2711" or "x86_64". */
bool db_host_fits(const struct db_says *s, const char *platform);

bool db_any_firmware(const struct db_says *s);

/*
 * Weighs the statements. If only the kernel's table forbids UAS, the verdict is unknown: the
 * decision has another row for that, and the user's entry in the quirks parameter overrides it.
 */
void db_weigh(const struct db_entry *e, uint16_t bcd, const char *platform, struct db_word *ret);
/* The same without a firmware version. Returns false, and the verdict unknown, if the verdict
 * depends on it. */
bool db_weigh_all(const struct db_entry *e, const char *platform, struct db_word *ret);
