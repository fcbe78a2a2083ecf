/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/trouble.h"

/* ---- line.c: the text of a log ---- */

struct reader {
        usec_t usec;         /* time of the last line that has one; a line without has the same */
        bool timed;          /* a line had a time */
        bool other;          /* a line was no message of the kernel */
        size_t records;      /* number of messages of the kernel */
        const char *refused; /* the option of journalctl that has made this text, which cannot be
                                read; NULL: none */
};

/* Reads a line, and changes it. Returns true if it is a message of the kernel. */
bool line_read(struct reader *r, char *line, struct kmsg *ret);

/* ---- disks.c: the disks of a log ---- */

#define DISKS_MAX 64
#define BUSES_MAX 64

struct replayed {
        struct facts facts; /* port: that of the SCSI host ("host3"), if the log does not show the
                               port */
        char host[16];
        bool drives; /* a storage driver has it */
        bool fresh;  /* new, and no driver has taken it yet; too fast for a keyboard */
        bool other;  /* no disk: a hub, or a device with another driver */
        struct trouble account;
        enum findings worst;
        enum blame blame;
};

struct replay {
        struct replayed disks[DISKS_MAX];
        size_t n;
        char controller[64];           /* the last that the log names */
        char buses[BUSES_MAX + 1][64]; /* the controller of each bus */
        struct kmsg excuse; /* the last record that excuses all disks of a controller or of the
                               machine */
        bool without_uas;   /* the log has no message of uas */
        void (*found)(const struct replayed *d, const struct finding *f,
                      usec_t usec); /* may be NULL */
};

/* log: the whole text. */
void replay_begin(struct replay *r, const char *log);
/* Returns true for a line that begins with "#". */
bool replay_directive(struct replay *r, const char *line);
void replay_take(struct replay *r, struct kmsg *k);
