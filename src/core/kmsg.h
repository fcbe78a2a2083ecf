/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/util.h"
#include "core/types.h"

/*
 * One record of /dev/kmsg, as one read(2) returns it:
 *
 *     3,1042,98765432,-;sd 0:0:0:0: [sda] tag#20 uas_eh_abort_handler 0 uas-tag 5 inflight: CMD IN
 *      SUBSYSTEM=scsi
 *      DEVICE=+scsi:0:0:0:0
 *
 * The kernel escapes nonprintable characters, so no device can forge a line.
 */
struct kmsg {
        bool user; /* written by a program, not the kernel: it proves nothing */
        uint64_t seq;
        usec_t usec; /* usec since boot, without the time asleep */
        char text[256];
        char subsystem[16];
        char device[64]; /* "+scsi:host0", "c189:129", "+pci:0000:00:14.0" */
};

/* Returns 0 or -EINVAL. Cuts off what does not fit. */
int kmsg_parse(const char *record, struct kmsg *ret);

/* The cause of a sign. */
enum blame {
        BLAME_NONE,
        BLAME_BRIDGE,
        BLAME_CABLE,
        BLAME_POWER,
        BLAME_HUB,
        BLAME_CONTROLLER,
        BLAME_DISK,    /* its medium: the bridge has reported it in good order */
        BLAME_HOST,    /* the machine had no time or memory for it */
        BLAME_UNKNOWN, /* disk, cable, power or port: no sign says which */
        _BLAME_MAX,
};

/* The device that a sign is about. */
enum place {
        PLACE_HOST,       /* name: "host0" */
        PLACE_DEVICE,     /* busnum, devnum; name: "2-1" */
        PLACE_PORT,       /* name: "2-1" */
        PLACE_CONTROLLER, /* name: "0000:00:14.0" */
        PLACE_MACHINE,
};

enum weight {
        WEIGHT_MEDIUM,
        WEIGHT_HIGH,
        WEIGHT_FATAL,  /* the disk cannot be reached any more */
        WEIGHT_AROUND, /* no fault of the disk: it explains signs around it, and is reported only
                          with them */
        WEIGHT_NEW,    /* no fault: a new host or device. Earlier signs are of another one */
        WEIGHT_GONE,   /* no fault: unplugged. Later signs are a consequence */
        WEIGHT_SLEEP,  /* no fault: the machine falls asleep. When it wakes up, the kernel may reset
                          every device */
        WEIGHT_AWAKE,  /* no fault: it is awake again */
};

/* The meaning of one record for a disk. */
struct sign {
        enum place place;
        char name[64];
        unsigned busnum, devnum;
        enum blame blame;
        enum weight weight;
        enum driver driver; /* WEIGHT_NEW of a host: the driver that took it; else DRIVER_NONE */
        bool excuses;       /* a bridge is not to blame for signs around this one */
        bool follows;  /* part of the kernel's error handling, which began with an earlier sign */
        bool handling; /* the SCSI layer's error handler is at work on this host */
        bool resets;   /* the disk is reset: no command from before is pending any more */
        const char *what; /* "commands were not answered in time" */
};

/* Returns false if the record does not count. */
bool sign_read(const struct kmsg *k, struct sign *ret);

/* Returns the constant string of a sign with the same words; NULL: no sign has them. */
const char *sign_what(const char *text);

/* Returns the cause as part of a sentence: "the bridge", "the cable or a connector", "the power
 * supply". */
const char *blame_sentence(enum blame b);
const char *blame_to_string(enum blame v);
int blame_from_string(const char *s);

/*
 * Reads a record about uas and an interface ("2-1:1.0"). *error becomes the negative errno with
 * which uas gave up on it (drivers/base/dd.c), or 0 if another device was plugged in there.
 */
void kmsg_note_probe(const struct kmsg *k, const char *interface, int *error);
