/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/context.h"
#include "client/watch.h"

/*
 * The daemon's promise that a disk is ours alone while a descriptor is open: its claim stays, nobody mounts it,
 * and the driver it had comes back when the descriptor closes, however that comes about.
 */
struct bench_lease {
        const struct bench_context *context;
        struct remote *remote;
        struct daemon_watch watch;
        char interface[INTERFACE_NAME_MAX];
        unsigned lun;    /* the one that is measured: its node may have another name after a switch */
        int fd;          /* -1: there is none */
        bool distrusted; /* the daemon says so of the disk, since the lease began */
        char block[BLOCK_NAME_MAX];
        char history[320]; /* the daemon's clause */
};

#define LEASE_NULL ((struct bench_lease){.fd = -1, .watch = DAEMON_WATCH_NULL})

/*
 * Takes the lease. lun: of v, that is measured. Tells what goes wrong; returns an enum uasd_exit: REFUSED with
 * who uses the disk, UNAUTHORIZED. l must stay where it is.
 */
int lease_take(const struct bench_context *c, struct remote *r, const struct view *v, unsigned lun, struct bench_lease *l);
void lease_end(struct bench_lease *l);

/* How it stands. */
enum lease_state {
        LEASE_GOOD,
        LEASE_LOST, /* ended by the daemon: somebody else took the disk, or it was stopped */
        LEASE_GONE, /* the disk is not there any more */
};

/*
 * Moves the disk under the lease and waits until its node is there again, whoever interrupts. Returns the
 * switch's own exit status, with why in text.
 */
int lease_switch(struct bench_lease *l, enum driver to, char *ret_text, size_t size);

/* What has come from the daemon meanwhile, without waiting. */
enum lease_state lease_look(struct bench_lease *l);

/*
 * After a lease, when uas has failed on a disk that was on it before: it would go back there. Asks as a user
 * would, once the lease is over, that it be on usb-storage until it is unplugged; tells what comes of it.
 */
void lease_keep_off_uas(const struct bench_context *c, const char *interface);
