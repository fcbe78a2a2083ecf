/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quirk-words.h"

#include "common/gettext.h"
#include "common/sentence.h"
#include "common/util.h"
#include "core/quirks.h"

static const char *const quirk_source_names[_QUIRK_SOURCE_MAX] = {
        [QUIRK_COMMAND_LINE] = "command-line",
        [QUIRK_MODPROBE] = "modprobe.d",
        [QUIRK_KEPT] = "uasd-kept",
        [QUIRK_UASD] = "uasd",
        [QUIRK_RUN_TIME] = "run-time",
};

static const char *const quirk_effect_names[_QUIRK_EFFECT_MAX] = {
        [QUIRK_IN_FORCE] = "in-force",   [QUIRK_SECOND] = "second",
        [QUIRK_OVERRULED] = "overruled", [QUIRK_NOT_READ] = "not-read",
        [QUIRK_TOO_LONG] = "too-long",   [QUIRK_NOT_LOADED] = "not-loaded",
};

DEFINE_TO_STRING(quirk_source)
DEFINE_TO_STRING(quirk_effect)

static int line_push(struct quirk_line **list, size_t *n, const struct quirk_line *line)
{
        struct quirk_line made = *line;

        made.value = strdup(line->value);
        if (line->file)
                made.file = strdup(line->file);
        if (made.value && (!line->file || made.file) && list_push(*list, *n, made))
                return 0;
        free(made.value);
        free(made.file);
        return -ENOMEM;
}

int quirk_lines_add(struct quirk_lines *l, enum quirk_source source, const char *file,
                    unsigned line, const char *value)
{
        return line_push(&l->list, &l->n,
                         &(struct quirk_line){source, (char *) file, line, (char *) value, 0});
}

int quirk_slips_add(struct quirk_lines *l, const struct quirk_line *slip)
{
        return line_push(&l->slips, &l->n_slips, slip);
}

static void quirk_line_list_free(struct quirk_line *list, size_t n)
{
        for (size_t i = 0; list && i < n; i++) {
                free(list[i].file);
                free(list[i].value);
        }
        free(list);
}

void quirk_lines_done(struct quirk_lines *l)
{
        quirk_line_list_free(l->list, l->n);
        quirk_line_list_free(l->slips, l->n_slips);
        *l = (struct quirk_lines){0};
}

void quirk_facts_done(struct quirk_facts *q)
{
        quirk_lines_done(&q->lines);
}

static bool quirk_line_is_read(const struct quirk_facts *q, const struct quirk_line *line)
{
        return !q->built_in || line->source == QUIRK_COMMAND_LINE;
}

const struct quirk_line *quirk_lines_last(const struct quirk_facts *q)
{
        for (size_t i = q->lines.n; i > 0; i--) {
                const struct quirk_line *line = q->lines.list + i - 1;

                if (quirk_line_is_read(q, line) &&
                    (!q->built_in || strlen(line->value) <= QUIRKS_MAX))
                        return line;
        }
        return NULL;
}

static enum quirk_effect quirk_line_effect(const struct quirk_facts *q,
                                           const struct quirk_line *line,
                                           const struct quirk_line *last)
{
        if (!quirk_line_is_read(q, line))
                return QUIRK_NOT_READ;
        if (strlen(line->value) > QUIRKS_MAX)
                return QUIRK_TOO_LONG;
        if (line == last)
                return QUIRK_NOT_LOADED;
        return QUIRK_OVERRULED;
}

struct words {
        uint16_t vid, pid;
        struct quirk_word *list;
        size_t n, max;
};

static void quirk_words_add(struct words *w, const char *entry, const struct quirk_word *word)
{
        if (w->n == w->max)
                return;
        w->list[w->n] = *word;
        (void) copy_string(w->list[w->n++].entry, sizeof(word->entry), entry);
}

/* Adds entries of `string` for this bridge with this effect: they are missing in the parameter, or
 * elsewhere in it. */
static void quirk_words_add_rest(struct words *w, const char *string, const struct quirk_word *word)
{
        const char *entry;
        size_t n;

        for (const char *p = string; (entry = quirks_next(p, w->vid, w->pid, &n)); p = entry + n) {
                char text[QUIRKS_MAX + 1];

                (void) copy_part(text, sizeof(text), entry, n);
                quirk_words_add(w, text, word);
        }
}

size_t quirk_words(const struct quirk_facts *q, uint16_t vid, uint16_t pid, struct quirk_word *ret,
                   size_t max)
{
        const struct quirk_line *last = quirk_lines_last(q);
        bool fits = last && strlen(last->value) <= QUIRKS_MAX;
        char now[QUIRKS_MAX + 1], kept[QUIRKS_MAX + 1], said[QUIRKS_MAX + 1] = "";
        struct words w = {vid, pid, ret, 0, max};
        const char *entry;
        size_t n;

        /* Each of these may be the source of one entry of the parameter, and is then removed here.
         */
        (void) copy_string(now, sizeof(now), q->own_now);
        (void) copy_string(kept, sizeof(kept), q->own_kept);
        if (fits)
                (void) copy_string(said, sizeof(said), last->value);
        for (const char *p = q->parameter; (entry = quirks_next(p, vid, pid, &n)); p = entry + n) {
                struct quirk_word word = {.effect = w.n ? QUIRK_SECOND : QUIRK_IN_FORCE};
                char text[QUIRKS_MAX + 1];

                (void) copy_part(text, sizeof(text), entry, n);
                text[strcspn(text, "\n")] = '\0'; /* the kernel keeps the newline of an echo */
                if (quirks_remove(now, text, now) > 0)
                        word.source = QUIRK_UASD;
                else if (quirks_remove(kept, text, kept) > 0)
                        word.source = QUIRK_KEPT;
                else if (fits && quirks_remove(said, text, said) > 0) {
                        word.source = last->source;
                        word.line = last;
                } else
                        word.source = QUIRK_RUN_TIME;
                quirk_words_add(&w, text, &word);
        }
        for (size_t i = 0; q->lines.list && i < q->lines.n; i++) {
                const struct quirk_line *line = q->lines.list + i;
                struct quirk_word word = {.source = line->source,
                                          .effect = quirk_line_effect(q, line, last),
                                          .line = line,
                                          .built_in = q->built_in};

                if (word.effect == QUIRK_OVERRULED)
                        word.by = last;
                quirk_words_add_rest(&w, line == last && fits ? said : line->value, &word);
        }
        return w.n;
}

static void quirk_line_source(const struct quirk_line *line, char *ret, size_t size)
{
        char file[256];

        if (line->file)
                (void) sentence(ret, size, "%s, line %u",
                                make_harmless(line->file, file, sizeof(file)), line->line);
        else
                (void) sentence(ret, size, "the kernel command line");
}

char *quirk_word_who(const struct quirk_word *w, char *ret, size_t size)
{
        static const char *const others[_QUIRK_SOURCE_MAX] = {
                [QUIRK_KEPT] = "uasd, which keeps such disks off uas",
                [QUIRK_UASD] = "uasd, for a running switch",
                [QUIRK_RUN_TIME] =
                        "a user or program at run time, or an older modprobe.d or initramfs",
        };

        if (others[w->source])
                (void) sentence(ret, size, "%s", others[w->source]);
        else
                quirk_line_source(w->line, ret, size);
        return ret;
}

char *quirk_word_effect(const struct quirk_word *w, char *ret, size_t size)
{
        static const char *const clauses[_QUIRK_EFFECT_MAX] = {
                [QUIRK_IN_FORCE] = "in force",
                [QUIRK_SECOND] = "not used: an earlier entry is for the same bridge",
                [QUIRK_NOT_READ] = "not read: usb-storage is built into this kernel",
                [QUIRK_NOT_LOADED] = "not in the parameter now",
        };
        char by[320];

        if (w->effect == QUIRK_OVERRULED) {
                quirk_line_source(w->by, by, sizeof(by));
                (void) sentence(ret, size, "overruled: only the last quirks= counts, that of %s",
                                by);
        } else if (w->effect == QUIRK_TOO_LONG)
                (void) sentence(ret, size, "refused: %zu characters, and the kernel takes %d",
                                strlen(w->line->value), QUIRKS_MAX);
        else
                (void) sentence(ret, size, "%s", clauses[w->effect]);
        return ret;
}

char *quirk_word_remedy(const struct quirk_word *w, char *ret, size_t size)
{
        static const char *const by_effect[_QUIRK_EFFECT_MAX] = {
                [QUIRK_OVERRULED] =
                        "Put all entries into that one string: uasctl policy --kernel prints it.",
                [QUIRK_NOT_READ] =
                        WITH_NAME("Put it on the kernel command line: usb-storage.quirks=%s"),
                [QUIRK_TOO_LONG] =
                        "With that string the kernel cannot load usb-storage. One that fits: uasctl policy --kernel",
                [QUIRK_NOT_LOADED] =
                        "It takes effect when usb-storage is loaded again: rebuild the initramfs, and restart.",
        };
        static const char *const by_source[_QUIRK_SOURCE_MAX] = {
                [QUIRK_COMMAND_LINE] = WITH_NAME(
                        "Remove %s from the kernel command line in the boot loader's configuration, and restart."),
                [QUIRK_KEPT] =
                        "uasd keeps it because of the policy, configuration or history of a disk, and removes it with that.",
                [QUIRK_UASD] = "uasd removes it when that switch has ended.",
                [QUIRK_RUN_TIME] = WITH_NAME(
                        "Write the string without %s to /sys/module/usb_storage/parameters/quirks. If it is there again after a restart, rebuild the initramfs."),
        };
        static const char *const built_in =
                "usb-storage is built into this kernel, and runs without the entries of that string. One that fits: uasctl policy --kernel";
        const char *form = by_effect[w->effect] ?: by_source[w->source];
        char who[320];

        if (w->effect == QUIRK_TOO_LONG && w->built_in)
                form = built_in;
        if (form)
                return sentence_with(form, w->entry, ret, size);
        (void) sentence(ret, size, "Remove %s from %s, rebuild the initramfs, and restart.",
                        w->entry, quirk_word_who(w, who, sizeof(who)));
        return ret;
}

/* ---- arguments ---- */

#define BLANK " \t\n\v\f\r"

char *kernel_next_arg(char *args, char **ret_name, char **ret_value)
{
        char *p = args + strspn(args, BLANK), *name, *value = NULL, *end;
        bool quoted = *p == '"', inside = quoted;

        if (!*p)
                return NULL;
        if (quoted)
                p++;
        for (name = end = p; *end && (inside || !strchr(BLANK, *end)); end++) {
                if (*end == '=' && !value)
                        value = end + 1;
                if (*end == '"')
                        inside = !inside;
        }
        p = *end ? end + 1 : end;
        *end = '\0';
        if (quoted &&
            end[-1] == '"') /* without a name it is the first one again, which does no harm */
                *--end = '\0';
        if (value) {
                value[-1] = '\0';
                if (*value == '"') {
                        value++;
                        if (end[-1] == '"')
                                end[-1] = '\0';
                }
        }
        *ret_name = name;
        *ret_value = value;
        return p;
}

bool kernel_name_is(const char *argument, const char *name)
{
        for (; *argument && *name; argument++, name++)
                if (*argument != *name && (!strchr("-_", *argument) || !strchr("-_", *name)))
                        return false;
        return *argument == *name;
}
