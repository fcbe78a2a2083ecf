/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the quirks parameter has its entries from: from files of a machine in a temporary folder,
 * compared with libkmod. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <libkmod.h>
#include <cmocka.h>

#include "common/util.h"
#include "core/quirk-words.h"
#include "core/quirks.h"
#include "sys/quirks/modprobed.h"
#include "tree.h"

/* One machine a row: the files, and "FILE:LINE=VALUE ..." in the order of the kernel. */
static const struct {
        const char *files[5][2];
        const char *lines;
} table[] = {
        {{{"etc/modprobe.d/a.conf", "options usb-storage quirks=1:1:u\n"}},
         "/etc/modprobe.d/a.conf:1=1:1:u"},
        {{{"etc/modprobe.d/a.conf",
           "# one\n\nblacklist x\noptions usb_storage delay_use=5 quirks=1:1:u\n"}},
         "/etc/modprobe.d/a.conf:4=1:1:u"},
        {{{"etc/modprobe.d/a.conf",
           "options usb-storage \\\n  delay_use=1 \\\n  quirks=1:1:u\noptions usb-storage quirks=2:2:u"}},
         "/etc/modprobe.d/a.conf:1=1:1:u /etc/modprobe.d/a.conf:4=2:2:u"},
        {{{"etc/modprobe.d/a.conf", "options usb-storage quirks=1:1:u quirks=2:2:u\n"}},
         "/etc/modprobe.d/a.conf:1=1:1:u /etc/modprobe.d/a.conf:1=2:2:u"},
        {{{"etc/modprobe.d/a.conf", "options\tusb-storage\tquirks=\"1:1:u\"\n"}},
         "/etc/modprobe.d/a.conf:1=1:1:u"},
        /* Sorted by name over all directories. The first directory with a name wins. */
        {{{"etc/modprobe.d/c.conf", "options usb-storage quirks=1:1:u\n"},
          {"run/modprobe.d/b.conf", "options usb-storage quirks=2:2:u\n"},
          {"usr/local/lib/modprobe.d/d.conf", "options usb-storage quirks=3:3:u\n"},
          {"usr/lib/modprobe.d/a.conf", "options usb-storage quirks=4:4:u\n"},
          {"usr/lib/modprobe.d/c.conf", "options usb-storage quirks=5:5:u\n"}},
         "/usr/lib/modprobe.d/a.conf:1=4:4:u /run/modprobe.d/b.conf:1=2:2:u /etc/modprobe.d/c.conf:1=1:1:u "
         "/usr/local/lib/modprobe.d/d.conf:1=3:3:u"},
        /* These do not count. */
        {{{"etc/modprobe.d/a.conf",
           "#options usb-storage quirks=1:1:u\n # options usb-storage quirks=1:1:u\n"
           "options usb quirks=1:1:u\noptions usb-storage xquirks=1:1:u\noptions\n"},
          {"etc/modprobe.d/b.conf~", "options usb-storage quirks=2:2:u\n"},
          {"etc/modprobe.d/.c.conf", "options usb-storage quirks=3:3:u\n"}},
         ""},
        {{{"etc/modprobe.d/a.conf", ""},
          {"usr/lib/modprobe.d/a.conf", "options usb-storage quirks=hidden\n"}},
         ""},
};

static void make(struct tree *t, size_t row)
{
        tree_make(t);
        for (size_t i = 0; i < 5 && table[row].files[i][0]; i++)
                tree_write(t, table[row].files[i][0], table[row].files[i][1]);
}

static void test_lines(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                struct quirk_lines lines;
                char text[512] = "";
                struct tree t;

                make(&t, i);
                assert_int_equal(modprobe_quirk_lines(&t.roots, &lines), 0);
                for (size_t j = 0; j < lines.n; j++)
                        (void) snprintf(text + strlen(text), sizeof(text) - strlen(text),
                                        "%s%s:%u=%s", j ? " " : "", lines.list[j].file,
                                        lines.list[j].line, lines.list[j].value);
                if (!streq(text, table[i].lines))
                        fail_msg("row %zu: %s", i, text);
                quirk_lines_done(&lines);
                tree_remove(&t);
        }
}

/* The options that libkmod would pass, parsed as the kernel does. */
static void kmod_says(const struct tree *t, char *ret, size_t size)
{
        static const char *const dirs[] = {"etc", "run", "usr/local/lib", "usr/lib"};
        char paths[ELEMENTSOF(dirs)][128];
        const char *list[ELEMENTSOF(dirs) + 1] = {NULL};
        struct kmod_config_iter *iter;
        struct kmod_ctx *ctx;

        for (size_t i = 0; i < ELEMENTSOF(dirs); i++) {
                (void) snprintf(paths[i], sizeof(paths[i]), "%s/%s/modprobe.d", t->path, dirs[i]);
                list[i] = paths[i];
        }
        ctx = kmod_new(NULL, list);
        assert_non_null(ctx);
        iter = kmod_config_get_options(ctx);
        ret[0] = '\0';
        while (iter && kmod_config_iter_next(iter)) {
                char options[512], *rest = options, *name, *value;

                if (!streq(kmod_config_iter_get_key(iter), "usb_storage"))
                        continue;
                (void) copy_string(options, sizeof(options), kmod_config_iter_get_value(iter));
                while ((rest = kernel_next_arg(rest, &name, &value)))
                        if (value && streq(name, "quirks"))
                                (void) snprintf(ret + strlen(ret), size - strlen(ret), "%s ",
                                                value);
        }
        kmod_config_iter_free_iter(iter);
        kmod_unref(ctx);
}

static void test_as_kmod(void **state)
{
        char here[512];
        struct tree empty;

        /* libkmod also reads the command line of the machine it runs on, and puts it last. */
        tree_make(&empty);
        kmod_says(&empty, here, sizeof(here));
        tree_remove(&empty);
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char kmod[512], ours[1100] = "";
                struct quirk_lines lines;
                struct tree t;

                make(&t, i);
                kmod_says(&t, kmod, sizeof(kmod));
                assert_int_equal(modprobe_quirk_lines(&t.roots, &lines), 0);
                for (size_t j = 0; j < lines.n; j++)
                        (void) snprintf(ours + strlen(ours), sizeof(ours) - strlen(ours), "%s ",
                                        lines.list[j].value);
                (void) snprintf(ours + strlen(ours), sizeof(ours) - strlen(ours), "%s", here);
                if (!streq(ours, kmod))
                        fail_msg("row %zu: '%s', and kmod has '%s'", i, ours, kmod);
                quirk_lines_done(&lines);
                tree_remove(&t);
        }
}

static void test_machine(void **state)
{
        struct quirk_facts q;
        struct tree t;

        tree_make(&t);
        tree_write(&t, "sys/module/usb_storage/parameters/quirks", "1:1:u,2:2:u\n");
        tree_write(&t, "sys/module/usb_storage/initstate", "live\n");
        tree_write(
                &t, "proc/cmdline",
                "BOOT_IMAGE=/vmlinuz usb-storage.quirks=3:3:u quiet usb_storage.quirks=\"1:1:u\"\n");
        tree_write(&t, "etc/modprobe.d/a.conf", "options usb-storage quirks=4:4:u\n");
        tree_write(&t, "run/uasd/quirks", "quirks=5:5:u\n");
        tree_write(&t, "run/uasd/quirks.bind", "ENTRY=2:2:u\n");
        assert_int_equal(quirk_facts_read(&t.roots, &q), 0);
        assert_string_equal(q.parameter, "1:1:u,2:2:u");
        assert_string_equal(q.own_kept, "5:5:u");
        assert_string_equal(q.own_now, "2:2:u");
        assert_false(q.built_in);
        assert_int_equal(q.lines.n, 3);
        assert_int_equal(q.lines.list[0].source, QUIRK_MODPROBE);
        assert_int_equal(q.lines.list[1].source, QUIRK_COMMAND_LINE);
        assert_string_equal(q.lines.list[1].value, "3:3:u");
        assert_string_equal(quirk_lines_last(&q)->value, "1:1:u");
        quirk_facts_done(&q);

        tree_unlink(&t, "sys/module/usb_storage/initstate");
        assert_int_equal(quirk_facts_read(&t.roots, &q), 0);
        assert_true(q.built_in);
        quirk_facts_done(&q);

        /* A module that is not loaded is not built in. */
        tree_unlink(&t, "sys/module/usb_storage/parameters/quirks");
        tree_unlink(&t, "proc/cmdline");
        assert_int_equal(quirk_facts_read(&t.roots, &q), 0);
        assert_false(q.built_in);
        assert_string_equal(q.parameter, "");
        assert_int_equal(q.lines.n, 1);
        quirk_facts_done(&q);
        tree_remove(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines),
                cmocka_unit_test(test_as_kmod),
                cmocka_unit_test(test_machine),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
