/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/contribute.h"

#include "common/names.h"
#include "common/sentence.h"
#include "core/bridge-db.h"
#include "ctl/context.h"
#include "sys/state/history.h"
#include "sys/udev/udevdb.h"
#include "term/terminal.h"

/* report --hwdb: an entry for udev/61-uasd.hwdb and a line for the kernel's unusual_uas.h, from
 * this disk's own history. */

#define OWN_SOURCE "own history"

/* The results of the disk's records at all ports: one statement for each firmware and verdict. */
struct findings {
        char key[HISTORY_KEY_MAX]; /* prefix of the keys of the disk */
        char host[sizeof(((struct db_says *) NULL)->host)];
        struct db_says says[DB_SAYS_MAX];
        size_t n;
};

/* Copies ASCII, limited to the length of a field. Characters that end a field or begin a comment
 * there become "?". */
static void copy_plain(char *ret, size_t size, const char *s)
{
        char harmless[1024];
        size_t n = 0;

        make_harmless(s, harmless, sizeof(harmless));
        for (const char *p = harmless; *p && n + 1 < size; p++)
                ret[n++] = (char) (strchr(";#", *p) || (unsigned char) *p >= 0x80 ? '?' : *p);
        while (n > 0 && ret[n - 1] == ' ')
                n--;
        ret[n] = '\0';
}

static int findings_take(const char *key, const struct history *h, void *data)
{
        struct findings *f = data;
        bool bad = h->state == HISTORY_DISTRUSTED || (h->state == HISTORY_TRIAL && h->distrusted);
        struct db_says *s = f->says;
        char note[256], reason[DISTRUST_REASON_MAX];

        if (!startswith(key, f->key) || (!bad && h->state != HISTORY_PASSED))
                return 0;
        while (s < f->says + f->n &&
               (s->bcd_min != h->firmware || (s->verdict == VERDICT_BAD) != bad))
                s++;
        if (s == f->says + DB_SAYS_MAX)
                return -ENOBUFS;
        if (s < f->says + f->n && strncmp(h->date, s->date, sizeof(s->date) - 1) < 0)
                return 0; /* only the newest of a kind */
        f->n += s == f->says + f->n;
        *s = (struct db_says){.verdict = bad ? VERDICT_BAD : VERDICT_GOOD,
                              .bcd_min = h->firmware,
                              .bcd_max = h->firmware};
        (void) copy_string(s->host, sizeof(s->host), f->host);
        (void) copy_string(s->source, sizeof(s->source), OWN_SOURCE);
        (void) copy_part(s->date, sizeof(s->date), h->date[0] ? h->date : "-",
                         strcspn(h->date, "T"));
        (void) concat(note, sizeof(note), "Linux ", h->kernel);
        if (bad && h->reason[0])
                text_add(note, sizeof(note), ": %s",
                         sentence_fill(h->reason, reason, sizeof(reason)));
        copy_plain(s->note, sizeof(s->note), note);
        return 0;
}

static void print_entry(const struct view *v, const struct db_entry *known,
                        const struct findings *found)
{
        char name[160], text[2 * USB_STRING_MAX];

        copy_plain(name, sizeof(name), view_product(v, text, sizeof(text)));
        printf("# %s\nusb:v%04Xp%04X*\n", name, v->disk.facts.vid, v->disk.facts.pid);
        /* The numbers continue those of the existing entry. So a separate file adds to that entry,
         * and replaces nothing. */
        for (size_t i = 0; i < found->n; i++) {
                const struct db_says *s = &found->says[i];

                printf(" " PROP_DB_SAYS "%zu=%s;%04X-%04X;%s;%s;%s;%s\n", known->n_says + i + 1,
                       verdict_to_string(s->verdict), s->bcd_min, s->bcd_max, s->host, s->source,
                       s->date, s->note);
        }
}

/* ---- the kernel's list ---- */

/* Prints a C string, and the end of its line in the list. */
static void print_quoted(const char *s)
{
        char plain[USB_STRING_MAX];

        copy_plain(plain, sizeof(plain), s);
        for (char *p = plain; (p = strpbrk(p, "\"\\"));)
                *p = '?';
        printf("\"%s\",\n\t\t", plain);
}

/* The letters that the entry needs: those in force here, and 'u' for a bad bridge. */
static void letters_wanted(const struct facts *f, bool bad, const struct kernel_flags *kernel,
                           char ret[static QUIRK_ENTRY_MAX])
{
        char others[QUIRKS_MAX + 1];

        (void) copy_string(others, sizeof(others), f->quirks);
        if (f->quirks_own[0])
                (void) quirks_remove(f->quirks, f->quirks_own, others);
        if (!quirks_find(others, f->vid, f->pid, ret))
                (void) snprintf(ret, QUIRK_ENTRY_MAX, "%s%s", kernel->letters,
                                kernel->ignore_uas ? "u" : "");
        if (bad && !strchr(ret, 'u'))
                text_add(ret, QUIRK_ENTRY_MAX, "u");
}

static bool all_in(const char *letters, const struct kernel_flags *kernel)
{
        for (; *letters; letters++)
                if (*letters == 'u' ? !kernel->ignore_uas : !strchr(kernel->letters, *letters))
                        return false;
        return true;
}

static void print_unusual(const struct facts *f, bool bad)
{
        char letters[QUIRK_ENTRY_MAX];
        struct kernel_flags kernel;
        const char *before = "";
        struct bridge b;

        facts_bridge(f, &b);
        kernel_flags(&b, &kernel);
        letters_wanted(f, bad, &kernel, letters);
        if (all_in(letters, &kernel)) {
                printf("\n/* drivers/usb/storage/unusual_uas.h needs no line for it");
                if (*letters)
                        printf(": the kernel knows all of this");
                printf(". */\n");
                return;
        }
        printf("\n/* drivers/usb/storage/unusual_uas.h */\nUNUSUAL_DEV(0x%04x, 0x%04x, 0x%04x, 0x%04x,\n\t\t",
               f->vid, f->pid, f->bcd, f->bcd);
        print_quoted(f->manufacturer);
        print_quoted(f->product);
        printf("USB_SC_DEVICE, USB_PR_DEVICE, NULL,\n\t\t");
        for (const char *p = letters; *p; p++) {
                const struct quirk_letter *letter = quirk_letter_find(*p, f->kernel);

                if (!letter)
                        continue;
                printf("%sUS_FL_%s", before, letter->flag);
                before = " | ";
        }
        printf("),\n");
}

static bool is_bad(const struct findings *found, uint16_t bcd)
{
        for (size_t i = 0; i < found->n; i++)
                if (found->says[i].verdict == VERDICT_BAD && db_firmware_fits(&found->says[i], bcd))
                        return true;
        return false;
}

static int findings_read(const struct ctl *c, const struct facts *f, struct findings *ret)
{
        char platform[PLATFORM_MAX];

        /* Without a serial number only the port identifies the disk. */
        if (f->serial[0])
                (void) history_key_disk(f, ret->key, sizeof(ret->key));
        else
                (void) history_key(f, ret->key, sizeof(ret->key));
        platform_read(&c->client.roots, platform);
        platform[strcspn(platform, " ")] = '\0';
        copy_plain(ret->host, sizeof(ret->host), platform[0] ? platform : "*");
        return history_each(&c->client.roots, findings_take, ret);
}

int report_hwdb(const struct ctl *c, const struct view *v)
{
        const struct facts *f = &v->disk.facts;
        struct findings found = {};
        struct db_entry known;
        int r = findings_read(c, f, &found);

        (void) bridgedb_read(&c->client.roots, f, &known);
        if (r < 0 && r != -ENOBUFS)
                return log_failure(UASD_EXIT_FAILED, "%s: cannot read its history: %s",
                                   f->interface, strerror(-r));
        if (r == -ENOBUFS || known.n_says + found.n > DB_SAYS_MAX)
                return log_failure(UASD_EXIT_FAILED,
                                   "An entry has room for %i statements, and %04x:%04x has more.",
                                   DB_SAYS_MAX, f->vid, f->pid);
        if (found.n == 0)
                return log_failure(
                        UASD_EXIT_FAILED,
                        "%s: no trial on uas has ended yet, so there are no results. To begin one: uasctl switch %s uas",
                        f->interface, facts_name(f));
        print_entry(v, &known, &found);
        print_unusual(f, is_bad(&found, f->bcd));
        return UASD_EXIT_OK;
}
