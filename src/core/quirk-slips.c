/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quirk-slips.h"

#include <ctype.h>
#include <sys/param.h>

#include "common/gettext.h"
#include "common/sentence.h"
#include "common/util.h"

static const char *const quirk_slip_kind_names[_QUIRK_SLIP_KIND_MAX] = {
        [SLIP_NAME] = "name",     [SLIP_BLANK] = "blank", [SLIP_LETTERS] = "no-letters",
        [SLIP_DIGITS] = "digits", [SLIP_SHAPE] = "shape", [SLIP_UNKNOWN] = "unknown-letter",
};

DEFINE_TO_STRING(quirk_slip_kind)

/* ---- one entry ---- */

#define SEPARATORS ":;./-_= \t"

/* Reads a number, and skips separators in front of it. ret_digits: without leading zeros. False: no
 * number, or above 0xffff. */
static bool slip_take_number(const char **p, const char *end, unsigned *ret, size_t *ret_digits)
{
        const char *s = *p, *start, *first;

        while (s < end && strchr(SEPARATORS, *s))
                s++;
        if (s + 2 < end && s[0] == '0' && (s[1] | 0x20) == 'x')
                s += 2;
        start = s;
        while (s < end && *s == '0')
                s++;
        *ret = 0;
        for (first = s; s < end && isxdigit((unsigned char) *s); s++)
                *ret = *ret * 16 + hex_digit(*s);
        *ret_digits = (size_t) (s - first);
        *p = s;
        return s > start && *ret_digits <= 4;
}

/* The letters of an entry that the kernel knows, each once; 'u' if there are none, since the author
 * wanted an effect. */
static void slip_add_letters(const char *p, const char *end, char *ret, size_t size)
{
        letters_t letters = 0;
        char text[28];

        for (; p < end; p++)
                if (strchr(QUIRK_LETTERS, *p | 0x20) && isalpha((unsigned char) *p))
                        letters |= LETTER(*p | 0x20);
        letters_format(letters ?: LETTER_U, text);
        text_add(ret, size, "%s", text);
}

/* Finds the mistake in the entry p[0..n]. Returns false if there is none. */
static bool slip_find(const char *p, size_t n, enum quirk_slip_kind *ret, char *ret_meant,
                      size_t size)
{
        const char *end = p + n, *s = p, *letters, *colon = memchr(p, ':', n), *second = NULL;
        char copy[QUIRKS_MAX + 1];
        size_t digits, more = 0, at;
        unsigned vid, pid;
        bool known;

        ret_meant[0] = '\0';
        known = slip_take_number(&s, end, &vid, &digits) && slip_take_number(&s, end, &pid, &more);
        if (known) {
                (void) snprintf(ret_meant, size, "%04x:%04x:", vid, pid);
                slip_add_letters(s, end, ret_meant, size);
                (void) copy_part(copy, sizeof(copy), p, MIN(n, QUIRKS_MAX));
                if (quirks_next(copy, (uint16_t) vid, (uint16_t) pid, &at)) {
                        for (letters = s + (s < end); letters < end &&
                                                      strchr(QUIRK_LETTERS, *letters | 0x20) &&
                                                      isalpha((unsigned char) *letters);)
                                letters++;
                        *ret = SLIP_UNKNOWN;
                        return letters < end;
                }
        }
        if (colon)
                second = memchr(colon + 1, ':', (size_t) (end - colon) - 1);
        if (digits > 4 || more > 4)
                *ret = SLIP_DIGITS;
        else if (known && colon && !second)
                *ret = SLIP_LETTERS;
        else
                *ret = SLIP_SHAPE;
        return true;
}

/* ---- words ---- */

#define DISTANCE_MAX 2
#define NAME_SIZE 32

static int name_fold(char c)
{
        return c == '-' ? '_' : c | 0x20;
}

/* Levenshtein's distance, without regard to case; '-' and '_' are the same. */
static size_t name_distance(const char *a, const char *b)
{
        size_t m = strlen(a), n = strlen(b), row[NAME_SIZE + 1];

        if (m > NAME_SIZE || n > NAME_SIZE)
                return SIZE_MAX;
        for (size_t j = 0; j <= n; j++)
                row[j] = j;
        for (size_t i = 1; i <= m; i++) {
                size_t diagonal = row[0];

                row[0] = i;
                for (size_t j = 1; j <= n; j++) {
                        size_t changed = diagonal + (a[i - 1] != b[j - 1] &&
                                                     name_fold(a[i - 1]) != name_fold(b[j - 1]));
                        size_t added = 1 + MIN(row[j], row[j - 1]);

                        diagonal = row[j];
                        row[j] = MIN(changed, added);
                }
        }
        return row[n];
}

static bool looks_like_entries(const char *s)
{
        return isxdigit((unsigned char) *s) && strchr(s, ':') &&
               strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:,") ==
                       strlen(s);
}

bool quirk_word_is_slip(const char *parameter, const char *value, bool usb_storage, bool behind)
{
        static const char *const full = "usb_storage.quirks", *const option = "quirks";

        if (!value)
                return behind && looks_like_entries(parameter);
        if (usb_storage)
                return kernel_name_is(parameter, full) ||
                       (!kernel_name_is(parameter, option) &&
                        name_distance(parameter, option) <= DISTANCE_MAX);
        /* usbcore has such a parameter, but no letter u. uas has none. */
        if (kernel_name_is(parameter, "usbcore.quirks"))
                return strpbrk(value, "uU") != NULL;
        return kernel_name_is(parameter, "uas.quirks") ||
               (!kernel_name_is(parameter, full) && name_distance(parameter, full) <= DISTANCE_MAX);
}

/* ---- the list ---- */

struct slips {
        struct quirk_slip *list;
        size_t n, max;
};

static struct quirk_slip *slips_new(struct slips *s, enum quirk_slip_kind kind,
                                    const struct quirk_line *line, const char *text, size_t n)
{
        struct quirk_slip *slip = s->list + s->n;

        if (s->n == s->max)
                return NULL;
        *slip = (struct quirk_slip){.kind = kind, .line = line};
        (void) copy_part(slip->text, sizeof(slip->text), text, MIN(n, QUIRKS_MAX));
        s->n++;
        return slip;
}

/* Appends the entries in the right spelling. */
static void slip_spell(const char *entries, char *ret, size_t size)
{
        for (size_t n; *entries; entries += n + (entries[n] == ',')) {
                char meant[QUIRKS_MAX + 1];
                enum quirk_slip_kind kind;

                n = strcspn(entries, ",");
                if (n == 0)
                        continue;
                if (!slip_find(entries, n, &kind, meant, sizeof(meant)))
                        (void) copy_part(meant, sizeof(meant), entries, MIN(n, QUIRKS_MAX));
                if (*meant)
                        text_add(ret, size, "%s%s", *ret ? "," : "", meant);
        }
}

static void slips_add_word(struct slips *s, const struct quirk_line *line, const char *half)
{
        const char *equals = strchr(line->value, '='), *entries = line->value;
        enum quirk_slip_kind kind = SLIP_BLANK;
        char joined[2 * QUIRKS_MAX];
        struct quirk_slip *slip;

        if (equals) {
                entries = equals + 1;
                kind = SLIP_NAME;
        }
        slip = slips_new(s, kind, line, line->value, strlen(line->value));
        if (!slip)
                return;
        /* "04e8 4001:u" is one entry, and a word behind "152d:0578:u," begins another one. */
        (void) snprintf(joined, sizeof(joined), "%s%s%s", half, *half ? ":" : "", entries);
        slip_spell(joined, slip->meant, sizeof(slip->meant));
}

/* The last entry of `value` without any colon: its rest is in the next word. */
static const char *half_entry(const char *value)
{
        const char *comma = strrchr(value, ','), *last = value;

        if (comma)
                last = comma + 1;
        return strchr(last, ':') ? "" : last;
}

static const struct quirk_line *continued_by(const struct quirk_lines *l, size_t i)
{
        for (size_t j = 0; j < l->n_slips; j++)
                if (l->slips[j].behind == i + 1)
                        return l->slips + j;
        return NULL;
}

static void slips_add_line(struct slips *s, const struct quirk_lines *l, size_t i)
{
        const struct quirk_line *line = l->list + i, *next = continued_by(l, i);
        const char *half = "";

        if (next)
                half = half_entry(line->value);
        for (const char *p = line->value; *p;) {
                char meant[QUIRKS_MAX + 1];
                enum quirk_slip_kind kind;
                size_t n = strcspn(p, ",");

                if (n > 0 && p != half && slip_find(p, n, &kind, meant, sizeof(meant))) {
                        struct quirk_slip *slip = slips_new(s, kind, line, p, n);

                        if (slip)
                                memcpy(slip->meant, meant, sizeof(meant));
                }
                p += n + (p[n] == ',');
        }
        if (next)
                slips_add_word(s, next, half);
}

size_t quirk_slips(const struct quirk_lines *l, struct quirk_slip *ret, size_t max)
{
        struct slips s = {ret, 0, max};

        for (size_t i = 0; i < l->n; i++)
                slips_add_line(&s, l, i);
        for (size_t i = 0; i < l->n_slips; i++) {
                size_t behind = l->slips[i].behind;

                if (behind == 0 ||
                    continued_by(l, behind - 1) != l->slips + i) /* else it is listed above */
                        slips_add_word(&s, l->slips + i, "");
        }
        return s.n;
}

bool quirk_slip_is_for(const struct quirk_slip *s, uint16_t vid, uint16_t pid)
{
        char name[16];
        size_t n;

        if (quirks_next(s->meant, vid, pid, &n))
                return true;
        (void) snprintf(name, sizeof(name), "%04x", vid);
        return !*s->meant && strcasestr(s->text, name);
}

/* ---- sentences ---- */

char *quirk_slip_why(const struct quirk_slip *s, char *ret, size_t size)
{
        static const char *const clauses[_QUIRK_SLIP_KIND_MAX] = {
                [SLIP_NAME] = "ignored: usb-storage has no parameter of that name",
                [SLIP_BLANK] = "ignored: a blank ends the word with the entries",
                [SLIP_LETTERS] =
                        "ignored: an entry is VID:PID:LETTERS, and this one has no letters",
                [SLIP_DIGITS] = "ignored: VID and PID have at most four hexadecimal digits",
                [SLIP_SHAPE] = "ignored: an entry is VID:PID:LETTERS",
                [SLIP_UNKNOWN] = "the kernel ignores the letters in it that it does not know",
        };

        (void) sentence(ret, size, "%s", clauses[s->kind]);
        return ret;
}

static const char *slip_remedy_form(const struct quirk_slip *s)
{
        if (s->kind == SLIP_NAME && s->line->source != QUIRK_MODPROBE)
                return WITH_NAME("Write: usb-storage.quirks=%s");
        if (s->kind == SLIP_NAME)
                return WITH_NAME("Write: options usb-storage quirks=%s");
        if (s->kind == SLIP_BLANK)
                return WITH_NAME("Write it as %s, in one word with the other entries.");
        return WITH_NAME("Write it as %s");
}

char *quirk_slip_remedy(const struct quirk_slip *s, char *ret, size_t size)
{
        ret[0] = '\0';
        if (!*s->meant)
                return ret;
        return sentence_with(slip_remedy_form(s), s->meant, ret, size);
}
