/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/tell/tell.h"

#include "common/util.h"

const char *driver_label(enum driver d)
{
        return d == DRIVER_NONE ? "-" : driver_to_string(d);
}

char *rate_text(const struct bench *b, unsigned pattern, enum driver d, enum stats_measure m, bool utf8,
                char ret[static RATE_TEXT_MAX])
{
        const struct bench_pattern *p = &b->patterns[pattern];
        char one[UNIT_TEXT_MAX], two[UNIT_TEXT_MAX];
        double reads, writes;

        stats_sides(b, pattern, d, m, &reads, &writes);
        (void) figure_text(reads, m, utf8, one);
        (void) figure_text(writes, m, utf8, two);
        if (p->read_percent == 0 || p->read_percent >= 100) {
                (void) copy_string(ret, RATE_TEXT_MAX, p->read_percent == 0 ? two : one);
                return ret;
        }
        one[strcspn(one, " ")] = '\0'; /* the same unit */
        (void) snprintf(ret, RATE_TEXT_MAX, "%s + %s", one, two);
        return ret;
}

size_t rounds_of(const struct bench *b)
{
        size_t most = 0;

        for (unsigned p = 0; p < b->n_patterns; p++)
                for (enum driver d = 0; d < _DRIVER_MAX; d++) {
                        size_t n = stats_of(b, p, d, STATS_BYTES).n;

                        most = n > most ? n : most;
                }
        return most;
}

static void add_known(char ret[static HEAD_VALUE_MAX], const char *what, const char *value)
{
        if (*value)
                text_join(ret, HEAD_VALUE_MAX, "%s%.240s", what, value);
}

static void add_bytes(char ret[static HEAD_VALUE_MAX], uint64_t bytes, const char *of)
{
        if (bytes > 0)
                text_join(ret, HEAD_VALUE_MAX, "%s%s", BYTES_TEXT(bytes), of);
}

static void queue_line(const struct bench_conditions *c, char *ret)
{
        for (enum driver d = DRIVER_USB_STORAGE; d <= DRIVER_UAS; d++) {
                const struct bench_queue *q = &c->queues[d];

                if (q->queue_depth == 0 && !*q->scheduler)
                        continue;
                text_join(ret, HEAD_VALUE_MAX, "%s", driver_to_string(d));
                if (q->queue_depth > 0)
                        text_add(ret, HEAD_VALUE_MAX, " depth %u", q->queue_depth);
                if (*q->scheduler)
                        text_add(ret, HEAD_VALUE_MAX, " %s", q->scheduler);
                if (q->nr_requests > 0)
                        text_add(ret, HEAD_VALUE_MAX, " %u requests", q->nr_requests);
        }
}

static void run_line(const struct bench *b, char *ret)
{
        size_t rounds = rounds_of(b);

        add_known(ret, "profile ", b->profile);
        if (b->started_usec > 0)
                text_join(ret, HEAD_VALUE_MAX, "%s UTC", DAY_TEXT(b->started_usec));
        text_join(ret, HEAD_VALUE_MAX, "%zu round%s after one that is dropped", rounds, rounds == 1 ? "" : "s");
        if (b->id[0])
                text_join(ret, HEAD_VALUE_MAX, "%.8s", b->id);
        add_known(ret, "", b->interrupted ? "interrupted" : "");
}

size_t bench_head(const struct bench *b, bool private, struct head_line ret[static HEAD_MAX])
{
        const struct bench_conditions *c = &b->conditions;
        struct head_line all[HEAD_MAX] = {{"Disk", ""}, {"Bridge", ""}, {"Link", ""}, {"Queues", ""},
                                          {"Host", ""}, {"File", ""},   {"Bench", ""}};
        size_t n = 0;

        add_known(all[0].value, "", c->model);
        add_bytes(all[0].value, c->disk_size, "");
        if (*all[0].value)
                add_known(all[0].value, "", c->rotational ? "spinning" : "not spinning");
        add_known(all[0].value, "serial ", private ? c->serial : "");
        add_known(all[1].value, "", c->bridge);
        add_known(all[1].value, "firmware ", c->firmware);
        if (c->speed_mbps > 0)
                text_join(all[2].value, HEAD_VALUE_MAX, "%u Mbit/s", c->speed_mbps);
        add_known(all[2].value, "", c->controller);
        queue_line(c, all[3].value);
        add_known(all[4].value, "Linux ", c->kernel);
        add_known(all[4].value, "", c->fio);
        add_bytes(all[4].value, c->memory, " of memory");
        add_known(all[5].value, "", private || !*c->path ? c->path : "measured through a file system");
        run_line(b, all[6].value);
        for (size_t i = 0; i < HEAD_MAX; i++)
                if (all[i].value[0])
                        ret[n++] = all[i];
        return n;
}

void notes_add(struct notes *notes, const char *text, char ret[static NOTES_TEXT_MAX])
{
        size_t i = 0;

        while (i < notes->n && !streq(notes->text[i], text))
                i++;
        if (i == notes->n && i < NOTES_MAX)
                (void) copy_string(notes->text[notes->n++], sizeof(notes->text[0]), text);
        text_add(ret, NOTES_TEXT_MAX, i < NOTES_MAX ? "%s[%zu]" : "%s[+]", *ret ? " " : "", i + 1);
}

void notes_of(struct notes *notes, const struct bench *b, unsigned pattern, enum driver d, const char *whose,
              char ret[static NOTES_TEXT_MAX])
{
        char text[DOUBT_TEXT_MAX + 16];
        struct doubts doubts;

        (void) doubts_of(b, pattern, d, &doubts);
        for (enum bench_doubt i = 0; i < _BENCH_DOUBT_MAX; i++) {
                (void) snprintf(text, sizeof(text), "%s%s", whose, doubts.text[i]);
                if (*doubts.text[i])
                        notes_add(notes, text, ret);
        }
}
