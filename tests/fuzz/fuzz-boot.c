/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file with the kernel command line, which uasctl changes. The first byte selects the form, the
 * rest is the file. A file may be refused with a reason. Otherwise a value that is written is read
 * again, and a second change leaves no second word. Nothing else in the file changes.
 */
#include "ctl/boot-edit.h"
#include "ctl/boot.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "fuzz.h"

static const struct boot_place *place(const struct roots *r, uint8_t form)
{
        if (form != 'o' && form != 'g')
                return &boot_place_modprobe;
        fuzz_file(r->etc, form == 'o' ? "kernel/cmdline" : "default/grub", "", 0);
        (void) unlinkat(r->etc, form == 'o' ? "default/grub" : "kernel/cmdline", 0);
        if (mkdirat(r->etc, "../boot", 0755) == 0)
                CHECK(mkdirat(r->etc, "../boot/grub", 0755) == 0);
        fuzz_file(r->etc, "../boot/grub/grub.cfg", "", 0);
        return boot_place_find(r);
}

/* Reads this text as the file. */
static bool edit(const struct roots *r, const struct boot_place *p, const char *text, size_t n,
                 struct boot_edit *ret)
{
        const char *why = NULL;
        int k;

        fuzz_file(r->etc, p->at, text, n);
        k = boot_edit_read(r, p, false, ret, &why);
        CHECK(k == 0 || (k == -EUCLEAN && why && *why));
        return k == 0;
}

/* Both texts are equal outside of the word and the blanks around it. */
static void same_around(const struct boot_edit *e, const char *text)
{
        const char *rest = e->text + e->end;
        size_t before = e->start, n = strlen(text);

        while (before > 0 && strchr(" \t", e->text[before - 1]))
                before--;
        CHECK(n >= before && memcmp(text, e->text, before) == 0);
        CHECK(n >= strlen(rest) && streq(text + n - strlen(rest), rest));
}

static void check(const struct roots *r, const struct boot_place *p, const char *data, size_t size)
{
        _cleanup_(boot_edit_done) struct boot_edit first = {}, second = {}, third = {};
        _cleanup_free_ char *set = NULL, *again = NULL, *without = NULL;

        if (!edit(r, p, data, size, &first))
                return;
        CHECK(first.start <= first.end && first.end <= strlen(first.text));
        set = boot_edit_text(&first, "1209:5a5a:u");
        CHECK(edit(r, p, set, strlen(set), &second));
        CHECK(second.value && streq(second.value, "1209:5a5a:u"));
        CHECK(second.n_former == 0);
        again = boot_edit_text(&second, "1209:5a5a:u");
        CHECK(streq(again, set));
        without = boot_edit_text(&second, NULL);
        CHECK(!strstr(without, "1209:5a5a:u"));
        if (p == &boot_place_modprobe)
                return;
        if (first.n_former == 0) /* otherwise the words before it are removed, too */
                same_around(&first, set);
        same_around(&second, without);
        /* A line that had only this word is empty now. */
        if (edit(r, p, without, strlen(without), &third))
                CHECK(!third.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = fuzz_text(data, size);
        const struct boot_place *p =
                size > 0 && !strstr(text + 1, "1209:5a5a:u") ? place(fuzz_roots(), data[0]) : NULL;

        /* Entries for each kernel are not changed. */
        if (p && p->form != BOOT_ENTRIES)
                check(fuzz_roots(), p, text + 1, size - 1);
        free(text);
        return 0;
}
