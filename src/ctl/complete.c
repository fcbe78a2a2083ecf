/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/complete.h"

#include <ctype.h>

#include "ctl/output.h"
#include "ctl/verbs.h"
#include "sys/usb/usbdisk.h"

/* A command line up to the cursor. */
struct completion {
        const char *root;
        char **words;
        const char *cursor;              /* the word there, or its part behind "--option=" */
        const struct verb *verb;         /* NULL: none, or an unknown one */
        const struct ctl_option *valued; /* the cursor is at its value; NULL: no option's */
        unsigned given;                  /* enum option_bit */
        bool has_verb;
        size_t verb_at, command_at; /* indices of words; 0: no command */
        size_t n_arguments;         /* words after the verb */
};

/* ---- the words ---- */

/* The row of "--name", "--name=value" or "-n". NULL: no such option. */
static const struct ctl_option *option_row_find(const char *word)
{
        size_t n = strcspn(word, "=") - 2;

        for (size_t i = 0; i < n_option_rows; i++) {
                const struct ctl_option *o = &option_rows[i];

                if (word[1] != '-' && o->letter && word[1] == o->letter && !word[2])
                        return o;
                if (word[1] == '-' && strlen(o->name) == n && strncmp(o->name, word + 2, n) == 0)
                        return o;
        }
        return NULL;
}

static void completion_take_option(struct completion *c, const char *word, const char *next)
{
        const struct ctl_option *o = option_row_find(word);

        if (!o)
                return;
        c->given |= o->bit;
        if (o->argument && !strchr(word, '=') && (*o->argument == '=' || streq(next, "=")))
                c->valued = o;
}

static void completion_take(struct completion *c, size_t i)
{
        const char *word = c->words[i];

        if (streq(word, "="))
                return;
        if (c->valued) {
                c->valued = NULL;
        } else if (word[0] == '-' && word[1]) {
                completion_take_option(c, word, c->words[i + 1]);
        } else if (!c->has_verb) {
                c->has_verb = true;
                c->verb = verb_find(word);
                c->verb_at = i;
        } else {
                c->n_arguments++;
                if (c->verb && streq(c->verb->name, VERB_INHIBIT))
                        c->command_at = i;
        }
}

/* The last word, unless it belongs to a command. */
static void completion_take_cursor(struct completion *c, const char *word)
{
        const char *value = strchr(word, '=');

        c->cursor = word;
        if (startswith(word, "--") && value) {
                c->valued = option_row_find(word);
                c->cursor = value + 1;
        } else if (c->valued && streq(word, "=")) {
                c->cursor = "";
        }
}

/* ---- the offers ---- */

static void offer(const char *word, const char *help)
{
        if (help)
                printf("%s\t%s\n", word, help);
        else
                puts(word);
}

static void offer_options(const struct completion *c)
{
        unsigned takes = OPTIONS_OF_ALL | OPTION_JSON;

        if (c->verb)
                takes |= c->verb->takes;
        for (size_t i = 0; i < n_option_rows; i++) {
                const struct ctl_option *o = &option_rows[i];
                char word[32];

                if (!(o->bit & takes))
                        continue;
                if (o->letter) {
                        (void) snprintf(word, sizeof(word), "-%c", o->letter);
                        offer(word, _(o->help));
                }
                (void) snprintf(word, sizeof(word), "--%s=", o->name);
                if (o->argument)
                        offer(word, _(o->help));
                word[strlen(word) - 1] = '\0';
                if (!o->argument || *o->argument == '[')
                        offer(word, _(o->help));
        }
}

static void offer_verbs(const struct completion *c)
{
        for (size_t i = 0; i < n_verbs; i++)
                offer(verbs[i].name, _(verbs[i].help));
}

/* Ports instead of interfaces, since readline takes words apart at colons. */
static void offer_disk(const struct roots *roots, const char *interface)
{
        struct usb_disk u = {};
        char nodes[256] = "";

        if (usb_disk_read(roots, interface, false, &u) <= 0)
                return;
        for (size_t i = 0; i < u.n_luns; i++) {
                if (!u.luns[i].disk.name[0])
                        continue;
                offer(u.luns[i].disk.name, u.facts.port);
                text_add(nodes, sizeof(nodes), "%s%s", *nodes ? " " : "", u.luns[i].disk.name);
        }
        offer(u.facts.port, nodes);
        usb_disk_done(&u);
}

static void offer_disks(const struct completion *c)
{
        _cleanup_(roots_close) struct roots roots = ROOTS_NULL;
        _cleanup_strv_ char **interfaces = NULL;

        if (*c->cursor == '/') {
                puts(":files");
                return;
        }
        if (roots_open(&roots, c->root) < 0)
                return;
        (void) usb_disk_enumerate(&roots, &interfaces);
        for (char **i = interfaces; i && *i; i++)
                offer_disk(&roots, *i);
}

/* Names with commas in between, and perhaps a + in front. */
static void offer_columns(const struct completion *c)
{
        const char *last = strrchr(c->cursor, ',') ?: strrchr(c->cursor, '+');
        int before = last ? (int) (last + 1 - c->cursor) : 0;

        puts(":nospace");
        for (enum column i = 0; i < _COLUMN_MAX; i++)
                printf("%.*s%s\n", before, c->cursor, column_name(i));
}

static void offer_directories(const struct completion *c)
{
        puts(":directories");
}

static void offer_files(const struct completion *c)
{
        puts(":files");
}

static void offer_hosts(const struct completion *c)
{
        puts(":hosts");
}

static void offer_times(const struct completion *c)
{
        puts("today\nyesterday");
}

/* The words in capitals in the tables of verbs and options. A word that is not here is free. */
static const struct {
        const char *name;
        void (*offer)(const struct completion *c);
} kinds[] = {
        {"COLUMN", offer_columns}, {"DIR", offer_directories}, {"DISK", offer_disks},
        {"HOST", offer_hosts},     {"PATH", offer_files},      {"TIME", offer_times},
        {"VERB", offer_verbs},
};

/* A word of "[DISK]" or "[on|off]". */
static void offer_value(const struct completion *c, const char *word)
{
        if (islower((unsigned char) *word)) {
                /* policy --write writes no entry for a disk that is left alone. */
                if (!(c->given & OPTION_WRITE && streq(word, policy_to_string(POLICY_IGNORE))))
                        offer(word, NULL);
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (streq(kinds[i].name, word))
                        kinds[i].offer(c);
}

static void offer_values(const struct completion *c, const char *values, size_t length)
{
        char text[128], *rest = text, *word;

        if (length >= sizeof(text))
                return;
        (void) snprintf(text, sizeof(text), "%.*s", (int) length, values);
        while ((word = strtok_r(rest, "[]|=+,.@", &rest)))
                offer_value(c, word);
}

/* The argument at the cursor, from "DISK [on|off]". The last one may be repeated ("DISK..."). */
static void offer_argument(const struct completion *c)
{
        const char *at = c->verb->arguments;
        size_t length = strcspn(at, " ");

        for (size_t i = 0; i < c->n_arguments; i++) {
                if (at[length]) {
                        at += length + 1;
                        length = strcspn(at, " ");
                } else if (!strstr(at, "...")) {
                        return;
                }
        }
        offer_values(c, at, length);
}

char **complete_line(const char *root, char **words)
{
        struct completion c = {.root = root, .words = words};
        size_t i;

        for (i = 0; words[i + 1] && !c.command_at; i++)
                completion_take(&c, i);
        if (c.command_at) {
                printf(":command %zu\n", c.command_at + 1);
                return NULL;
        }
        if (c.verb && streq(c.verb->name, VERB_BENCH))
                return words + c.verb_at;
        completion_take_cursor(&c, words[i]);
        if (c.valued)
                offer_values(&c, c.valued->argument, strlen(c.valued->argument));
        else if (*c.cursor == '-')
                offer_options(&c);
        else if (!c.has_verb)
                offer_verbs(&c);
        else if (c.verb && streq(c.verb->name, VERB_INHIBIT))
                printf(":command %zu\n", i + 1);
        else if (c.verb)
                offer_argument(&c);
        return NULL;
}
