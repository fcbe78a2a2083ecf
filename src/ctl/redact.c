/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/report.h"

#include "common/util.h"
#include "core/history.h"
#include "term/program.h"

#define SERIAL_MIN 4         /* a shorter one, such as "0", identifies nothing and occurs in most lines */
#define PACKAGES "/usr/lib/" /* files here are the same on other machines */

struct serials {
        char **list;
        size_t n;
};

/* Replaces it by "SERIAL-1". An empty one stays, because that is useful to know. */
static void redact_serial(struct serials *known, char *serial, size_t size)
{
        size_t i = 0;

        if (!serial[0])
                return;
        while (i < known->n && !streq(known->list[i], serial))
                i++;
        if (i == known->n && strv_push(&known->list, &known->n, serial) < 0)
                no_memory();
        (void) snprintf(serial, size, "SERIAL-%zu", i + 1);
}

/* Takes ownership of by. */
static void put_text(char **s, char *by)
{
        free(*s);
        *s = need(by);
}

static void redact(char **s)
{
        if (*s)
                put_text(s, strdup(REDACTED));
}

static void redact_text(char *text, size_t size)
{
        if (text[0])
                (void) copy_string(text, size, REDACTED);
}

/* "Before it (redacted)": keeps the first n characters. */
static void redact_from(char **s, size_t n)
{
        char *told;

        if (asprintf(&told, "%.*s" REDACTED, (int) n, *s) < 0)
                no_memory();
        put_text(s, told);
}

/* Sentences about the users of the disk, or about distrust, are formulated again. */
static void redact_disk(struct serials *known, struct view *v)
{
        struct disk *d = &v->disk;
        char text[1024];

        redact_serial(known, d->facts.serial, sizeof(d->facts.serial));
        /* Mount points contain labels and names of people. Commands contain file names. */
        for (size_t i = 0; i < d->n_users; i++) {
                struct user *u = &d->users[i];

                if (u->where && !streq(u->where, "/"))
                        redact(&u->where);
                redact(&u->unit);
                redact(&u->command);
        }
        redact_text(d->outcome.text, sizeof(d->outcome.text));
        redact_text(d->facts.distrust_reason, sizeof(d->facts.distrust_reason));
        d->facts.distrust_date[0] = d->facts.distrust_kernel[0] = '\0';
        redact(&d->inhibited);
        redact_text(d->lease, sizeof(d->lease));
        (void) disk_history(d, v->history, sizeof(v->history));
        put_text(&v->reason, strdup(disk_reason(d, text, sizeof(text))));
}

/* The text of an ending names users of the disk. In a record the last part is such a text: "distrusted with firmware 1.00 on
 * Linux 6.1: ...". */
static void redact_words(struct log_entry *e)
{
        char **text = &e->values[EVENT_TEXT], *words;

        if (!e->record || !*text) {
                redact(text);
                return;
        }
        words = strstr(*text, ": ");
        if (words)
                redact_from(text, (size_t) (words + strlen(": ") - *text));
}

static void redact_event(struct serials *known, struct log_entry *e)
{
        char **id = &e->values[EVENT_USB_ID], *serial, text[USB_ID_MAX];

        redact_words(e);
        if (!*id)
                return;
        (void) copy_string(text, sizeof(text), *id);
        serial = strchr(text, ':');
        serial = serial ? strchr(serial + 1, ':') : NULL;
        if (!serial) {
                redact(id);
                return;
        }
        serial++;
        redact_serial(known, serial, sizeof(text) - (size_t) (serial - text));
        put_text(id, strdup(text));
}

/* Removes names that the kernel has read from devices, also from others at that port; and serial numbers anywhere else. */
static void redact_line(const struct serials *known, char **text)
{
        static const char *const told[] = {"SerialNumber: ", "Product: ", "Manufacturer: "};

        for (size_t i = 0; i < ELEMENTSOF(told); i++) {
                const char *at = strstr(*text, told[i]);

                if (!at)
                        continue;
                redact_from(text, (size_t) (at + strlen(told[i]) - *text));
                break;
        }
        for (size_t i = 0; i < known->n; i++)
                if (strlen(known->list[i]) >= SERIAL_MIN && strstr(*text, known->list[i]))
                        redact(text);
}

void redact_all(struct views *views, struct events *events, struct events *kernel)
{
        struct serials known = {};

        for (size_t i = 0; i < views->n; i++)
                redact_disk(&known, &views->list[i]);
        for (size_t i = 0; i < events->n; i++)
                redact_event(&known, &events->list[i]);
        for (size_t i = 0; i < kernel->n; i++)
                redact_line(&known, &kernel->list[i].values[EVENT_TEXT]);
        strv_free(known.list);
}

void redact_quirks(struct quirk_facts *q)
{
        for (size_t i = 0; i < q->lines.n; i++) {
                char **file = &q->lines.list[i].file, *name = *file ? strrchr(*file, '/') : NULL;

                if (name && strncmp(*file, PACKAGES, strlen(PACKAGES)) != 0)
                        redact_from(file, (size_t) (name + 1 - *file));
        }
}
