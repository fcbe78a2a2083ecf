/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/client.h"
#include "common/exit-codes.h"
#include "common/gettext.h"
#include "common/log.h"
#include "common/util.h"
#include "core/history.h"
#include "term/json.h"
#include "term/terminal.h"

/* The frame of uasctl: its command line, what it reads for a verb, and the verbs. */

/* ---- options ---- */

enum option_bit {
        /* Every verb accepts these. */
        OPTION_HELP = 1 << 0,
        OPTION_VERSION = 1 << 1,
        OPTION_NO_LEGEND = 1 << 2,
        OPTION_NO_PAGER = 1 << 3,
        OPTION_NO_ASK_PASSWORD = 1 << 4,
        OPTION_QUIET = 1 << 5,
        /* Some verbs accept these, and the others refuse them: a dry run must not become a real
           one. */
        OPTION_DRY_RUN = 1 << 6,
        OPTION_FORCE = 1 << 7,
        OPTION_WAIT = 1 << 8,
        OPTION_TEXTFILE = 1 << 9,
        OPTION_KERNEL = 1 << 10,
        OPTION_OUTPUT = 1 << 11,
        OPTION_TREE = 1 << 12,
        OPTION_SINCE = 1 << 13,
        OPTION_REDACT = 1 << 14,
        OPTION_HWDB = 1 << 15,
        OPTION_HOST = 1 << 16,
        OPTION_DISK = 1 << 17,
        OPTION_WHY = 1 << 18,
        OPTION_LIST = 1 << 19,
        OPTION_JSON = 1 << 20,
        OPTION_WRITE = 1 << 21,
        OPTION_LINES = 1 << 22,
        OPTION_FOLLOW = 1 << 23,
        OPTION_ALL = 1 << 24,
};
#define OPTIONS_OF_ALL                                                                             \
        (OPTION_HELP | OPTION_VERSION | OPTION_NO_LEGEND | OPTION_NO_PAGER |                       \
         OPTION_NO_ASK_PASSWORD | OPTION_QUIET)

struct options {
        unsigned given; /* enum option_bit */
        bool json, legend, pager;
        const char *json_form;  /* "short" or "pretty"; NULL: not given */
        const char *columns;    /* the text of --output=; NULL: not given */
        const char *wait;       /* the text of --wait=; NULL: no time was given */
        uint64_t wait_usec;     /* UINT64_MAX: no limit */
        const char *since;      /* the text of --since= */
        uint64_t since_usec;    /* since 1970; 0: everything */
        const char *lines;      /* the text of --lines= */
        size_t n_lines;         /* at most */
        const char *host;       /* of --host=; NULL: this machine */
        const char *textfile;   /* directory; NULL: stdout */
        const char *hwdb;       /* the disk; NULL: none */
        const char *disk, *why; /* of inhibit; NULL: any disk, no reason */
};

/* One row for each option. */
extern const struct ctl_option {
        enum option_bit bit;
        char letter;
        const char *name, *argument; /* as in --help; NULL: none */
        size_t at;                   /* offset of the field that gets the argument */
        const char *help;
} option_rows[];
extern const size_t n_option_rows;

/* The verb whose argument is a command. Words after the name of the command belong to it. */
#define VERB_INHIBIT "inhibit"

/* The index of the first word, which is the verb; argc: none. */
int options_first_word(int argc, char **argv);
/* Returns the index of the first argument that is not an option (argc: none), or -EINVAL, reported.
 * Reorders argv. */
int options_parse(int argc, char **argv, struct options *ret);
bool options_find(const char *name);
/* The name of one of these options; NULL: none is set. */
const char *options_name(unsigned bits);

/* ---- the context ---- */

/* The context of every verb. */
struct ctl {
        const struct options *options;
        struct client client;
        const char *root;     /* the folder with client.roots; NULL: this machine */
        struct remote remote; /* the connection for further calls, if there is one */
        struct views views;   /* the disks */
        bool named;           /* the user named them */
        json_object *json;    /* the list of ctl_json() */
        const struct view *v; /* the selected disk; NULL: none was named, or it is not plugged in */
        char id[HISTORY_KEY_MAX]; /* VID:PID:SERIAL of a disk that is not plugged in */
};

enum disks_source {
        FROM_NOWHERE, /* the verb reads them itself */
        FROM_DAEMON,  /* for verbs that change something, which need uasd */
        FROM_KERNEL,  /* with the users of each disk */
        FROM_EITHER,  /* from the daemon, or without it from the kernel */
};

/* Reads the disks once. what: the disk to select, or NULL. Reports errors. Returns an enum
 * uasd_exit, like the next ones. */
int ctl_read(struct ctl *c, enum disks_source from, const char *what);
/* Drops all disks from c->views except these, which come in this order; without names, none. One
 * name also sets c->v. */
int ctl_choose(struct ctl *c, char **names);
/* Selects one of the disks that were read. */
int ctl_select(struct ctl *c, const char *what);
bool ctl_is_plugged_in(const struct ctl *c, const char *what);
/* VID:PID, which a serial number may follow: the bridge of a disk that may not be plugged in. */
bool ctl_parse_bridge(const char *s, uint16_t *ret_vid, uint16_t *ret_pid);
/* The same. It may also be VID:PID:SERIAL of a disk that is not plugged in, which goes to c->id. */
int ctl_select_or_id(struct ctl *c, const char *what);
/* The same. It may also be the serial number of a disk on record or in the journal. */
int ctl_select_recorded(struct ctl *c, const char *what);
/* After FROM_KERNEL: adds the members that only the daemon knows. Returns false, reported, if it
 * does not answer. */
bool ctl_ask_daemon(struct ctl *c);
/* The list of disks that verb_run() prints as JSON, if the verb succeeds. NULL: without --json. */
json_object *ctl_json(struct ctl *c);
/* After FROM_DAEMON: calls a method for this disk, with --force. value: as in struct remote_call.
 */
int ctl_call(struct ctl *c, const char *method, const char *value);

/* ---- the verbs ---- */

/*
 * A verb reports errors itself and returns an exit status: an enum uasd_exit, or with inhibit that
 * of its command. args: the words after it, NULL-terminated. Its row limits their number.
 */
struct verb {
        const char *name;
        unsigned min_args, max_args;
        unsigned takes; /* enum option_bit */
        enum disks_source
                disks; /* read into c->views; with names in args, only those (ctl_choose()) */
        const char *arguments; /* for --help */
        const char *help;
        int (*run)(struct ctl *c, char **args); /* NULL: bench, a separate program, and help */
        unsigned shows; /* with more arguments than this it changes what it shows; 0: no such limit
                         */
        const char *group; /* the heading in front of it in --help; NULL: that of the row before */
        /* run() is called for each disk, which is c->v. A failure does not keep the others from it.
         * The first one counts. */
        bool each;
};

#define VERB_BENCH "bench"
#define VERB_HELP "help"

extern const struct verb verbs[];
extern const size_t n_verbs;

const struct verb *verb_find(const char *name);
/* words: the verb and its arguments, NULL-terminated. Without words it is list. Returns the row to
 * run, or NULL, reported. */
const struct verb *verb_check(const struct options *o, char **words);
/* Reads the disks for it, and runs it. Returns its exit status. */
int verb_run(const struct verb *v, struct ctl *c, char **args);
/* The whole uasctl, for program_run(). */
int uasctl_run(int argc, char **argv, const char *root);

typedef int verb_fn(struct ctl *c, char **args);
verb_fn verb_list, verb_status, verb_explain, verb_db, verb_switch, verb_policy, verb_trim,
        verb_release, verb_cancel, verb_eject, verb_forget, verb_monitor, verb_log, verb_metrics,
        verb_report, verb_inhibit, verb_lease, verb_wait;

/* Prints the users of a disk, one a line. */
void say_users(const struct view *v);
/* The same, and the commands that free it. */
void say_in_use(const struct ctl *c, const struct view *v);
/* The same for a switch that waits, and what ends that. Returns the exit status. */
int tell_deferred(const struct ctl *c, const char *label, const struct view *v);
struct freeing_list {
        char **commands;
        size_t n;
        char **left_out; /* a sentence for each use without a command */
        size_t n_left_out;
};
/*
 * Lists the commands that free a disk, in the order in which they work: first the users, then what
 * stands on the disk, the top first. Empty for the disk of the running system.
 */
void freeing_read(const struct roots *roots, const struct disk *d, struct freeing_list *ret);
void freeing_done(struct freeing_list *list);
/* Prints what this machine knows about the bridge of a disk, as a contribution. */
int report_hwdb(const struct ctl *c, const struct view *v);

/*
 * Lines in fstab and crypttab with a name of this interface's disk that may disappear with its
 * driver: a list of json_name(). A file that cannot be read counts as empty.
 */
json_object *mentions_read(const struct roots *roots, const char *interface);
void mentions_print(json_object *names);

/*
 * Runs a program (absolute path, no shell, no standard input or error, a clean environment) and
 * captures its output. At the time limit the program is killed. Nothing waits for it, because it
 * may hang in the kernel. Returns its exit status; -ETIMEDOUT, -E2BIG (too much output), -ECANCELED
 * (it died of a signal) or another -errno. Then *ret is NULL.
 */
int capture(const char *const argv[], uint64_t limit_usec, char **ret);
