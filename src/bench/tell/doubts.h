/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/tell/stats.h"

/* Reasons to doubt a figure. Pure. Each is printed beside its figure. Public words, and a sentence. */
enum bench_doubt {
        DOUBT_LINK,   /* "above-link": more than the link can transfer */
        DOUBT_USB2,   /* "usb2": the link is USB 2, which limits the disk */
        DOUBT_DEPTH,  /* "depth": the queue was not as deep as requested */
        DOUBT_SUBMIT, /* "submission": more than half of the latency was submission */
        DOUBT_CACHE,  /* "cache": memory, or the disk's own cache, may have answered */
        DOUBT_REGION, /* "region": smaller than in the profile */
        DOUBT_SYNCS,  /* "syncs": fio synced more often than requested */
        DOUBT_MEMORY, /* "memory": reads did not come from a device, or writes did not go to one */
        DOUBT_DISK,   /* "disk": too fast for a spinning disk */
        DOUBT_SPREAD, /* "spread": the rounds differ by more than 10 % */
        DOUBT_HEAT,   /* "falling": slower in every round */
        DOUBT_HALVES, /* "halves": the figures before and after the other driver differ */
        DOUBT_LOAD,   /* "load": others moved data on the same bus */
        DOUBT_ERRORS, /* "errors": some runs failed and do not count */
        _BENCH_DOUBT_MAX,
};
const char *bench_doubt_to_string(enum bench_doubt d);

#define DOUBT_TEXT_MAX 256
/* A sentence with its numbers for each doubt, "" for the others. */
struct doubts {
        char text[_BENCH_DOUBT_MAX][DOUBT_TEXT_MAX];
};
/* The doubts about a pattern under a driver. Also returns them as bits 1 << enum bench_doubt. */
unsigned doubts_of(const struct bench *b, unsigned pattern, enum driver d, struct doubts *ret);

/*
 * The doubts that can cause or hide a difference between the drivers. The others are those that concern both drivers (region,
 * syncs), and a USB 2 link if there is a difference nevertheless.
 */
unsigned doubts_of_comparison(bool differs);

/*
 * Upper limit of a link's data rate in bytes per second; 0: not known. USB 2: 13 packets of 512 bytes in a microframe.
 * SuperSpeed: the rate after the line code (8b/10b at 5 Gbit/s, 128b/132b above), less 32 bytes of header and framing for each
 * packet of 1024. Both protocols stay below it: at 5 Gbit/s usually 0.4 of 0.485 GB/s.
 */
double link_ceiling(unsigned speed_mbps);
