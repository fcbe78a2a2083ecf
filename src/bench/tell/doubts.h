/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/tell/stats.h"

/*
 * Why a figure may not be what it seems. Pure. Each stands beside the number it is about. Public words, and a sentence.
 */
enum bench_doubt {
        DOUBT_LINK,   /* "above-link": more than the link can carry */
        DOUBT_USB2,   /* "usb2": the link is USB 2 and holds it back */
        DOUBT_DEPTH,  /* "depth": the queue was not as deep as asked for */
        DOUBT_SUBMIT, /* "submission": more than half of the latency was waiting to be handed over */
        DOUBT_CACHE,  /* "cache": memory, or the disk's own cache, may have answered */
        DOUBT_REGION, /* "region": less was worked on than the profile asks for */
        DOUBT_SYNCS,  /* "syncs": fio synced more often than it was asked to */
        DOUBT_MEMORY, /* "memory": what was read did not come from a device, or what was written did not go to one */
        DOUBT_DISK,   /* "disk": no spinning disk is so quick */
        DOUBT_SPREAD, /* "spread": the rounds differ by more than 10 % */
        DOUBT_HEAT,   /* "falling": slower round by round */
        DOUBT_HALVES, /* "halves": another figure before the other driver had the disk than after */
        DOUBT_LOAD,   /* "load": others moved data on the same bus */
        DOUBT_ERRORS, /* "errors": runs failed, and are not counted */
        _BENCH_DOUBT_MAX,
};
const char *bench_doubt_to_string(enum bench_doubt d);

/* What is doubted of a pattern under a driver: bits, 1 << enum bench_doubt. */
unsigned doubts_of(const struct bench *b, unsigned pattern, enum driver d);

/*
 * Which of them may make a difference, or hide one, that the drivers do not have. Not what both were asked alike (region, syncs),
 * nor a USB 2 link where there is a difference all the same.
 */
unsigned doubts_of_comparison(bool differs);

/* The sentence with its numbers, of one of those bits; "" of others. */
#define DOUBT_TEXT_MAX 256
char *doubt_text(const struct bench *b, unsigned pattern, enum driver d, enum bench_doubt doubt, char ret[static DOUBT_TEXT_MAX]);

/*
 * What a link can carry at the very most, bytes of data a second; 0: not known. USB 2: 13 packets of 512 bytes a microframe.
 * SuperSpeed: what the line code leaves (8b/10b at 5 Gbit/s, 128b/132b above), less 32 bytes of header and framing for each
 * packet of 1024. Both protocols stay below: 0.4 GB/s of the first 0.485 are usual.
 */
double link_ceiling(unsigned speed_mbps);
