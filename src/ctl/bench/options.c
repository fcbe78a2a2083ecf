/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bench/options.h"

#include "common/log.h"
#include "common/names.h"
#include "common/util.h"
#include "core/config.h"
#include "ctl/bench/profile.h"

#define ROUNDS_MAX 60 /* as many as statistics take (ctl/bench/stats.h), with room for round 0 */
#define RUNTIME_MIN_USEC USEC_PER_SEC
#define RUNTIME_MAX_USEC (24 * 3600 * USEC_PER_SEC)
#define SIZE_MIN (1 << 20)

static const char *const names[] = {
        [ARG_BENCH_DRIVER - ARG_BENCH] = "--driver",     [ARG_BENCH_PROFILE - ARG_BENCH] = "--profile",
        [ARG_BENCH_PATTERN - ARG_BENCH] = "--pattern",   [ARG_BENCH_SWEEP - ARG_BENCH] = "--sweep",
        [ARG_BENCH_CLIENTS - ARG_BENCH] = "--clients",   [ARG_BENCH_FILE - ARG_BENCH] = "--file",
        [ARG_BENCH_WRITE - ARG_BENCH] = "--write",       [ARG_BENCH_DESTROY - ARG_BENCH] = "--destroy-data",
        [ARG_BENCH_RUNTIME - ARG_BENCH] = "--runtime",   [ARG_BENCH_PAUSE - ARG_BENCH] = "--pause",
        [ARG_BENCH_SIZE - ARG_BENCH] = "--size",         [ARG_BENCH_CSV - ARG_BENCH] = "--csv",
        [ARG_BENCH_MARKDOWN - ARG_BENCH] = "--markdown", [ARG_BENCH_CHART - ARG_BENCH] = "--chart",
        [ARG_BENCH_HISTORY - ARG_BENCH] = "--history",   [ARG_BENCH_DIFF - ARG_BENCH] = "--diff",
        [ARG_BENCH_SHOW - ARG_BENCH] = "--show",         [ARG_BENCH_REMOVE - ARG_BENCH] = "--remove",
        [ARG_BENCH_ROUNDS - ARG_BENCH] = "--rounds",
};

static int no(const char *option, const char *argument, const char *takes)
{
        log_error("%s=%s: it takes %s.", option, argument, takes);
        return -EINVAL;
}

static int set_size(const char *argument, uint64_t *ret)
{
        uint64_t v;

        if (profile_size(argument, &v) < 0 || v < SIZE_MIN)
                return -EINVAL;
        *ret = v;
        return 0;
}

static int set_driver(const char *argument, enum driver *ret)
{
        int v = driver_from_string(argument);

        if (v != DRIVER_UAS && v != DRIVER_USB_STORAGE)
                return -EINVAL;
        *ret = v;
        return 0;
}

static int set_rounds(const char *argument, unsigned *ret)
{
        unsigned long long v;

        if (parse_uint(argument, 10, ROUNDS_MAX, &v) < 0 || v == 0)
                return -EINVAL;
        *ret = (unsigned) v;
        return 0;
}

static int set_runtime(const char *argument, uint64_t *ret)
{
        uint64_t v;

        if (parse_seconds(argument, &v) < 0 || v < RUNTIME_MIN_USEC || v > RUNTIME_MAX_USEC ||
            v % USEC_PER_SEC > 0)
                return -EINVAL;
        *ret = v;
        return 0;
}

static int set_word(const char *argument, const char **ret)
{
        if (isempty(argument))
                return -EINVAL;
        *ret = argument;
        return 0;
}

int bench_option(int which, const char *argument, struct bench_options *o)
{
        const char *name = names[which - ARG_BENCH];

        if (!o->first)
                o->first = name;
        switch (which) {
        case ARG_BENCH_DRIVER:
                return set_driver(argument, &o->driver) < 0
                               ? no(name, argument, DRIVER_NAME_UAS " or " DRIVER_NAME_BOT)
                               : 0;
        case ARG_BENCH_PROFILE:
                return set_word(argument, &o->profile) < 0 ? no(name, argument, "the name of a profile") : 0;
        case ARG_BENCH_PATTERN:
                return set_word(argument, &o->pattern) < 0 ? no(name, argument, "a section of the profile") : 0;
        case ARG_BENCH_SWEEP:
                return set_word(argument, &o->sweep) < 0
                               ? no(name, argument,
                                    "depth, jobs or region, and a list if one likes: depth=1,8,32")
                               : 0;
        case ARG_BENCH_CLIENTS:
                return set_word(argument, &o->clients) < 0 ? no(name, argument, "hosts that run fio --server")
                                                           : 0;
        case ARG_BENCH_FILE:
                return set_word(argument, &o->file) < 0 ? no(name, argument, "a file or a directory") : 0;
        case ARG_BENCH_CHART:
                return set_word(argument, &o->chart) < 0 ? no(name, argument, "a file: result.svg") : 0;
        case ARG_BENCH_RUNTIME:
                return set_runtime(argument, &o->runtime_usec) < 0
                               ? no(name, argument, "whole seconds, from 1 s to 24 h")
                               : 0;
        case ARG_BENCH_PAUSE:
                return parse_seconds(argument, &o->pause_usec) < 0 ? no(name, argument, "a time") : 0;
        case ARG_BENCH_SIZE:
                return set_size(argument, &o->size) < 0 ? no(name, argument, "a size of 1M or more: 512M, 4G")
                                                        : 0;
        case ARG_BENCH_ROUNDS:
                return set_rounds(argument, &o->rounds) < 0 ? no(name, argument, "a number from 1 to 60") : 0;
        case ARG_BENCH_WRITE:
                o->write = true;
                break;
        case ARG_BENCH_DESTROY:
                o->destroy_data = true;
                break;
        case ARG_BENCH_CSV:
                o->csv = true;
                break;
        case ARG_BENCH_MARKDOWN:
                o->markdown = true;
                break;
        case ARG_BENCH_HISTORY:
                o->history = true;
                break;
        case ARG_BENCH_DIFF:
                o->diff = true;
                break;
        case ARG_BENCH_SHOW:
                o->show = true;
                break;
        case ARG_BENCH_REMOVE:
                o->remove = true;
                break;
        }
        return 0;
}

static bool measures(const struct bench_options *o)
{
        return o->driver != DRIVER_NONE || o->profile || o->pattern || o->sweep || o->clients || o->file ||
               o->write || o->destroy_data || o->rounds || o->runtime_usec || o->pause_usec != UINT64_MAX ||
               o->size;
}

/* Of what is kept. */
static const char *wrong_with_kept(const struct bench_options *o, bool json, bool dry_run, unsigned n_words)
{
        if (o->history + o->diff + o->show + o->remove > 1)
                return "--history, --diff, --show and --remove are about what is kept: one of them at a time.";
        if (measures(o) || dry_run)
                return "--history, --diff, --show and --remove are about what is kept; they measure nothing.";
        if (!o->show && (o->csv || o->markdown || o->chart))
                return "--csv, --markdown and --chart tell one result: uasctl bench --show ID.";
        if (o->diff && n_words != 2)
                return "--diff takes two results: uasctl bench --diff A B; --history lists them.";
        if ((o->show || o->remove) && n_words != 1)
                return "--show and --remove take one result, by its id; --history lists them.";
        if (o->history && n_words > 1)
                return "--history takes one disk at most.";
        return o->remove && json ? "--remove has nothing to print: it takes no --json." : NULL;
}

const char *bench_options_wrong(const struct bench_options *o, bool json, bool dry_run, unsigned n_words)
{
        if (json + o->csv + o->markdown > 1)
                return "Only one of --json, --csv and --markdown can be printed at a time.";
        if (o->history || o->diff || o->show || o->remove)
                return wrong_with_kept(o, json, dry_run, n_words);
        if (dry_run && (json || o->csv || o->markdown || o->chart))
                return "--dry-run measures nothing, so there is nothing to print or to draw: it takes no --json, --csv, "
                       "--markdown or --chart.";
        if (n_words > 1)
                return "One disk at a time.";
        if (n_words == 0 && !o->file)
                return "Which disk? uasctl bench DISK, or --file=PATH alone for any file system.";
        if (o->write && !o->file)
                return "--write needs --file=DIRECTORY: it writes to a scratch file of its own.";
        if (o->file && o->destroy_data)
                return "--destroy-data writes to the raw disk; with --file there is --write.";
        if (o->file && o->driver != DRIVER_NONE)
                return "A mounted disk stays on its driver: --file takes no --driver.";
        if (o->clients && !o->file)
                return "--clients needs --file=PATH, the file as all of them see it.";
        if (o->clients && o->sweep)
                return "--clients varies the number of machines, --sweep something else: one at a time.";
        return NULL;
}
