/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/redact.h"

#include "common/util.h"
#include "core/history.h"

#define SERIAL_MIN 4         /* what is shorter, such as "0", says nothing, and is in most lines */
#define PACKAGES "/usr/lib/" /* what stands here is the same on other machines */

struct serials {
        char **list;
        size_t n;
};

static void serials_done(struct serials *s)
{
        strv_free(s->list);
}

/* "SERIAL-1" in place of it; what is empty says something, too. 0 or -ENOMEM. */
static int redact_serial(struct serials *known, char *serial, size_t size)
{
        size_t i = 0;
        int k = 0;

        if (!serial[0])
                return 0;
        while (i < known->n && !streq(known->list[i], serial))
                i++;
        if (i == known->n)
                k = strv_push(&known->list, &known->n, serial);
        (void) snprintf(serial, size, "SERIAL-%zu", i + 1);
        return k;
}

static int replace(char **s, const char *by)
{
        char *copy = *s ? strdup(by) : NULL;

        if (*s && !copy)
                return -ENOMEM;
        free(*s);
        *s = copy;
        return 0;
}

/* Mount points have labels and names of people in them, commands what they work on. */
static int redact_user(struct user *u)
{
        int k = u->where && !streq(u->where, "/") ? replace(&u->where, REDACTED) : 0;

        if (k >= 0)
                k = replace(&u->unit, REDACTED);
        return k < 0 ? k : replace(&u->command, REDACTED);
}

static void redact_text(char *text, size_t size)
{
        if (text[0])
                (void) copy_string(text, size, REDACTED);
}

/* Sentences about who uses it, or why it is distrusted, are made anew. */
static int redact_disk(struct serials *known, struct view *v)
{
        struct disk *d = &v->disk;
        char text[1024];
        int k = redact_serial(known, d->facts.serial, sizeof(d->facts.serial));

        for (size_t i = 0; i < d->n_users && k >= 0; i++)
                k = redact_user(&d->users[i]);
        redact_text(d->outcome.text, sizeof(d->outcome.text));
        redact_text(d->facts.distrust_reason, sizeof(d->facts.distrust_reason));
        d->facts.distrust_date[0] = d->facts.distrust_kernel[0] = '\0';
        redact_text(d->inhibited, sizeof(d->inhibited));
        redact_text(d->lease, sizeof(d->lease));
        (void) disk_history(d, v->history, sizeof(v->history));
        return k < 0 ? k : replace(&v->reason, disk_reason(d, text, sizeof(text)));
}

/* What is said in words names who used the disk. Of a record the words are the last: "distrusted with firmware 1.00 on Linux 6.1:
 * ...". */
static int redact_words(struct log_entry *e)
{
        char **text = &e->values[EVENT_TEXT], *words, *told;
        int k;

        if (!e->record || !*text)
                return replace(text, REDACTED);
        words = strstr(*text, ": ");
        if (!words)
                return 0;
        k = asprintf(&told, "%.*s: " REDACTED, (int) (words - *text), *text);
        if (k < 0)
                return -ENOMEM;
        free(*text);
        *text = told;
        return 0;
}

static int redact_event(struct serials *known, struct log_entry *e)
{
        char **id = &e->values[EVENT_USB_ID], *serial, text[USB_ID_MAX];
        int k = redact_words(e);

        if (k < 0 || !*id)
                return k;
        (void) copy_string(text, sizeof(text), *id);
        serial = strchr(text, ':');
        serial = serial ? strchr(serial + 1, ':') : NULL;
        if (!serial)
                return replace(id, REDACTED);
        serial++;
        k = redact_serial(known, serial, sizeof(text) - (size_t) (serial - text));
        return k < 0 ? k : replace(id, text);
}

/* What the kernel was told by a device: of what else was at that port, too. And serials anywhere else. */
static int redact_line(const struct serials *known, char **text)
{
        static const char *const told[] = {"SerialNumber: ", "Product: ", "Manufacturer: "};
        char *at, *line;

        for (size_t i = 0; i < ELEMENTSOF(told); i++) {
                at = strstr(*text, told[i]);
                if (!at)
                        continue;
                if (asprintf(&line, "%.*s%s" REDACTED, (int) (at - *text), *text, told[i]) < 0)
                        return -ENOMEM;
                free(*text);
                *text = line;
                break;
        }
        for (size_t i = 0; i < known->n; i++)
                if (strlen(known->list[i]) >= SERIAL_MIN && strstr(*text, known->list[i]))
                        return replace(text, REDACTED);
        return 0;
}

int redact_all(struct views *views, struct events *events, struct kernel_log *kernel)
{
        struct serials known = {};
        int k = 0;

        for (size_t i = 0; i < views->n && k >= 0; i++)
                k = redact_disk(&known, &views->list[i]);
        for (size_t i = 0; i < events->n && k >= 0; i++)
                k = redact_event(&known, &events->list[i]);
        for (size_t i = 0; i < kernel->n && k >= 0; i++)
                k = redact_line(&known, &kernel->lines[i].text);
        serials_done(&known);
        return k;
}

int redact_quirks(struct quirk_facts *q)
{
        for (size_t i = 0; i < q->lines.n; i++) {
                char *told, **file = &q->lines.list[i].file, *name = *file ? strrchr(*file, '/') : NULL;

                if (!name || strncmp(*file, PACKAGES, strlen(PACKAGES)) == 0)
                        continue;
                if (asprintf(&told, "%.*s/" REDACTED, (int) (name - *file), *file) < 0)
                        return -ENOMEM;
                free(*file);
                *file = told;
        }
        return 0;
}
