/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log of a machine, as its user has saved it: tools/replay-log reads it. */
#include "../../tools/replay/replay.h"

#include "fuzz.h"

static void check_record(const struct reader *r, const struct kmsg *k)
{
        CHECK(r->records > 0 && !r->refused);
        CHECK(!k->user && k->usec == r->usec);
        CHECK(strlen(k->text) < sizeof(k->text) && !strchr(k->text, '\n'));
        CHECK(strlen(k->subsystem) < sizeof(k->subsystem) && strlen(k->device) < sizeof(k->device));
}

static void found(const struct replayed *d, const struct finding *f, usec_t usec)
{
        CHECK(d->facts.port[0] && f->finding != FINDING_NONE && f->what);
        CHECK(f->finding != FINDING_BROKEN || f->blame == BLAME_BRIDGE);
}

static void check_disks(const struct replay *r)
{
        CHECK(r->n <= DISKS_MAX);
        for (size_t i = 0; i < r->n; i++) {
                const struct replayed *d = r->disks + i;

                CHECK(d->facts.port[0] && strlen(d->facts.port) < sizeof(d->facts.port));
                CHECK(strlen(d->host) < sizeof(d->host) &&
                      strlen(d->facts.controller_device) < sizeof(d->facts.controller_device));
                CHECK(d->blame < _BLAME_MAX &&
                      (d->worst != FINDING_NONE || d->blame == BLAME_NONE));
                for (size_t j = 0; j < i; j++) /* a port has one disk */
                        CHECK(!streq(r->disks[j].facts.port, d->facts.port));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct replay replay;
        struct reader reader = {0};
        char *log = fuzz_text(data, size), *rest = log, *line;

        replay.found = found;
        replay_begin(&replay, log);
        while ((line = fuzz_field(&rest, '\n'))) {
                /* A copy of its own size, so that ASan detects a read past its end. */
                char *own = strdup(line);
                struct kmsg k;

                CHECK(own);
                if (!replay_directive(&replay, own) && line_read(&reader, own, &k)) {
                        check_record(&reader, &k);
                        replay_take(&replay, &k);
                }
                free(own);
        }
        check_disks(&replay);
        free(log);
        return 0;
}
