/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/quirks.h"

#include "common/util.h"

/* simple_strtoul(s, &end, 16): "0x" may have no digits, no digits are 0, and an overflow wraps
 * around. */
static unsigned long kernel_strtoul(const char *s, const char **ret_end)
{
        unsigned long v = 0;

        if (s[0] == '0' && (s[1] | 0x20) == 'x')
                s += 2;
        for (;; s++) {
                int lower = *s | 0x20;

                if (*s >= '0' && *s <= '9')
                        v = v * 16 + (unsigned long) (*s - '0');
                else if (lower >= 'a' && lower <= 'f')
                        v = v * 16 + (unsigned long) (lower - 'a' + 10);
                else
                        break;
        }
        *ret_end = s;
        return v;
}

/* Returns the letters behind "VID:PID:", or NULL. */
static const char *entry_flags(const char *entry, uint16_t *ret_vid, uint16_t *ret_pid)
{
        unsigned long vid = kernel_strtoul(entry, &entry), pid;

        if (*entry != ':')
                return NULL;
        pid = kernel_strtoul(entry + 1, &entry);
        if (*entry != ':' || vid > UINT16_MAX || pid > UINT16_MAX)
                return NULL;
        *ret_vid = (uint16_t) vid;
        *ret_pid = (uint16_t) pid;
        return entry + 1;
}

bool quirk_entry_ids(const char *entry, uint16_t *ret_vid, uint16_t *ret_pid)
{
        return entry_flags(entry, ret_vid, ret_pid) != NULL;
}

/* Returns the first entry that matches, and its letters; or NULL. */
static const char *quirks_find_entry(const char *string, uint16_t vid, uint16_t pid,
                                     const char **ret_flags)
{
        for (const char *p = string; *p;) {
                uint16_t v, q;
                const char *flags = entry_flags(p, &v, &q);

                if (flags && v == vid && q == pid) {
                        *ret_flags = flags;
                        return p;
                }
                p += strcspn(p, ",");
                p += *p == ',';
        }
        return NULL;
}

static bool quirks_find_letters(const char *string, uint16_t vid, uint16_t pid, letters_t *ret)
{
        letters_t letters = 0;
        const char *flags;

        if (!quirks_find_entry(string, vid, pid, &flags))
                return false;
        for (; *flags && *flags != ','; flags++) {
                int lower = *flags | 0x20;
                if (strchr(QUIRK_LETTERS, lower))
                        letters |= LETTER(lower);
        }
        *ret = letters;
        return true;
}

const char *quirks_next(const char *string, uint16_t vid, uint16_t pid, size_t *ret_n)
{
        const char *flags, *entry;

        entry = quirks_find_entry(string, vid, pid, &flags);
        if (entry)
                *ret_n = strcspn(entry, ",");
        return entry;
}

int quirks_find(const char *string, uint16_t vid, uint16_t pid,
                char ret_letters[static QUIRK_ENTRY_MAX])
{
        letters_t letters = 0;
        bool found = quirks_find_letters(string, vid, pid, &letters);

        letters_format(letters, ret_letters);
        return found;
}

int quirks_entry_of(const char *string, uint16_t vid, uint16_t pid,
                    char ret_entry[static QUIRK_ENTRY_MAX])
{
        const char *entry;
        size_t n;

        ret_entry[0] = '\0';
        entry = quirks_next(string, vid, pid, &n);
        return entry && n < QUIRK_ENTRY_MAX && copy_part(ret_entry, QUIRK_ENTRY_MAX, entry, n);
}

int quirks_entry(const char *string, const struct bridge *b, enum driver target,
                 char ret_entry[static QUIRK_ENTRY_MAX])
{
        letters_t letters = 0;
        bool entry = quirks_find_letters(string, b->vid, b->pid, &letters), right = true;
        letters_t uas = kernel_letters(b, DRIVER_UAS),
                  storage = kernel_letters(b, DRIVER_USB_STORAGE);
        int n;

        switch (target) {
        case DRIVER_UAS:
                if (!entry)
                        letters = uas;
                right = !(letters & LETTER_U);
                /* The author of a 'u' did not intend to clear the flags that uas needs. */
                letters = (letters | uas) & ~LETTER_U;
                break;
        case DRIVER_USB_STORAGE:
                /* A row that only usb-storage has does not keep uas off. */
                right = entry ? letters & LETTER_U : uas & storage & LETTER_U;
                if (!entry)
                        letters = storage;
                letters |= LETTER_U;
                break;
        case DRIVER_NONE:
        case DRIVER_OTHER:
        case _DRIVER_MAX:
                break;
        }
        ret_entry[0] = '\0';
        if (right || !quirk_letter_find('u', b->kernel)) /* without it no entry has a say in uas */
                return 0;
        for (char c = 'a'; c <= 'z'; c++)
                if (!quirk_letter_find(c, b->kernel))
                        letters &= ~LETTER(c);
        n = snprintf(ret_entry, QUIRK_ENTRY_MAX, "%04x:%04x:", b->vid, b->pid);
        letters_format(letters, ret_entry + n);
        return 1;
}

int quirks_prepend(const char *string, const char *entry, char ret[static QUIRKS_MAX + 1])
{
        char s[QUIRKS_MAX + 1];
        int n = snprintf(s, sizeof(s), "%s%s%s", entry, *string ? "," : "", string);

        if ((size_t) n >= sizeof(s))
                return -ENOSPC;
        memcpy(ret, s, sizeof(s));
        return 0;
}

/* Removes the entry of n characters at `at`, with one comma. */
static void quirks_cut(const char *s, char *at, size_t n)
{
        char *tail = at + n;

        if (*tail)
                tail++; /* the comma behind it */
        else if (at > s)
                at--; /* the last entry: the comma before it */
        memmove(at, tail, strlen(tail) + 1);
}

void quirks_drop(const char *string, uint16_t vid, uint16_t pid, char ret[static QUIRKS_MAX + 1])
{
        char s[QUIRKS_MAX + 1] = "";
        const char *found;
        size_t n;

        (void) copy_string(s, sizeof(s), string);
        while ((found = quirks_next(s, vid, pid, &n)))
                quirks_cut(s, s + (found - s), n);
        memcpy(ret, s, sizeof(s));
}

int quirks_remove(const char *string, const char *entry, char ret[static QUIRKS_MAX + 1])
{
        char s[QUIRKS_MAX + 1] = "";
        size_t n = strlen(entry);
        int r = 0;

        (void) copy_string(s, sizeof(s), string);
        for (char *p = s;; p++) {
                size_t length = strcspn(p, ",");

                if (length == n && memcmp(p, entry, n) == 0) {
                        quirks_cut(s, p, n);
                        r = 1;
                        break;
                }
                p += length;
                if (!*p)
                        break;
        }
        memcpy(ret, s, sizeof(s));
        return r;
}

void quirks_without(const char *string, const char *entries, char ret[static QUIRKS_MAX + 1])
{
        char rest[QUIRKS_MAX + 1];

        (void) copy_string(rest, sizeof(rest), string);
        for (size_t n; *entries; entries += n + (entries[n] == ',')) {
                char entry[QUIRKS_MAX + 1];

                n = strcspn(entries, ",");
                (void) copy_part(entry, sizeof(entry), entries, n);
                (void) quirks_remove(rest, entry, rest);
        }
        memcpy(ret, rest, sizeof(rest));
}
