/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

/*
 * What udev/61-uasd.hwdb says of a bridge: statements of several sources, which may contradict each other. Nothing is
 * settled there: what holds for this firmware and this host is weighed here.
 */
#define DB_SAYS_MAX 8
#define PLATFORM_MAX 256

struct db_says {
        enum verdict verdict;
        uint16_t bcd_min, bcd_max;
        char host[32]; /* "*", or how a word of the platform begins */
        char source[80];
        char date[16];
        char note[80];
};

struct db_entry {
        char chip[64];
        struct db_says says[DB_SAYS_MAX];
        size_t n_says;
        bool ruled; /* a local rule or hwdb file says UASD_VERDICT: that goes before all of them */
        enum verdict rule;
};

struct db_word {
        enum verdict verdict;
        bool conflict;     /* some say good, some bad: the verdict is unknown */
        bool kernel_alone; /* bad, and nobody but the kernel's own table says so */
};

/* One property: 1 and its value, 0 if there is none, -errno. */
typedef int (*db_property_fn)(const void *from, const char *key, char *ret, size_t size);
/* All that the properties say. 1, or 0 if that is nothing. */
int db_fill(struct db_entry *ret, db_property_fn get, const void *from);

/* "bad;0100-0210;raspberrypi;Source;2026-11;note", the note may be missing, "*" for any firmware. 0 or -EINVAL. */
int db_says_parse(const char *value, struct db_says *ret);

bool db_firmware_fits(const struct db_says *s, uint16_t bcd);
/* platform: words, like "raspberrypi,4-model-b brcm,bcm2711" or "x86_64". */
bool db_host_fits(const struct db_says *s, const char *platform);
bool db_of_kernel(const struct db_says *s);

void db_weigh(const struct db_entry *e, uint16_t bcd, const char *platform, struct db_word *ret);

/*
 * What the decision takes from it. What the kernel's table alone forbids has a row of its own there, which the user's
 * entry in the quirks parameter replaces: it is not counted twice.
 */
enum verdict db_verdict(const struct db_entry *e, uint16_t bcd, const char *platform);
