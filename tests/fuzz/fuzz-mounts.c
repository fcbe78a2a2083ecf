/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mountinfo and swaps: users name mount points, sources and swap files. 'r': the rest is mountinfo,
 * and after a NUL swaps. Otherwise: lines of a mount point and a source each, from which the test
 * makes a table as the kernel writes it.
 */
#include "core/disk.h"
#include "fuzz.h"
#include "sys/users/users.h"

static struct block parts[] = {{"sda1", 8, 1}, {"sda2", 8, 2}};
static const struct lun lun = {
        .scsi = "0:0:0:0", .sg = "sg0", .disk = {"sda", 8, 0}, .parts = parts, .n_parts = 2};

static void check_user(const struct user *u)
{
        CHECK(u->kind < _USER_KIND_MAX);
        CHECK(streq(u->device, "sda") || streq(u->device, "sda1") || streq(u->device, "sda2") ||
              streq(u->device, "sg0"));
}

static void check_raw(struct roots *r, const uint8_t *data, size_t size)
{
        const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
        size_t n = nul ? (size_t) (nul - data) : size, n_users = 0;
        struct user *users = NULL;
        int k;

        fuzz_file(r->proc, "1/mountinfo", data, n);
        fuzz_file(r->proc, "swaps", nul ? nul + 1 : data, nul ? size - n - 1 : 0);
        k = users_any(r, &lun, 1);
        CHECK(k == 0 || k == 1);
        k = users_find(r, &lun, 1, false, &users, &n_users);
        CHECK(k <= 0);
        if (k < 0)
                return;
        for (size_t i = 0; i < n_users; i++)
                check_user(&users[i]);
        users_free(users, n_users);
}

/* As the kernel's seq_path() and mangle() write it. */
static void put_mangled(FILE *f, const char *s)
{
        for (; *s; s++)
                if (strchr(" \t\n\\#", *s))
                        (void) fprintf(f, "\\%03o", (unsigned char) *s);
                else
                        (void) fputc(*s, f);
}

static void check_table(struct roots *r, char *text)
{
        char *table = NULL, *where[16], *rest = text;
        size_t size, n = 0, n_users = 0, seen = 0;
        struct user *users = NULL;
        FILE *f = open_memstream(&table, &size);

        CHECK(f);
        (void) fputs("22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n", f);
        while (rest && n < ELEMENTSOF(where)) {
                char *target = fuzz_field(&rest, '\n'), *source = fuzz_field(&rest, '\n');

                if (!*target)
                        continue;
                (void) fprintf(f, "%zu 22 8:%zu / /", 30 + n, n % 3);
                put_mangled(f, target);
                (void) fputs(" rw,relatime shared:2 - ext4 ", f);
                put_mangled(f, source && *source ? source : "none");
                (void) fputs(" rw\n", f);
                where[n++] = target;
        }
        CHECK(fclose(f) == 0);
        fuzz_file(r->proc, "1/mountinfo", table, size);
        fuzz_file(r->proc, "swaps", "", 0);
        CHECK(users_any(r, &lun, 1) == (n > 0));
        CHECK(users_find(r, &lun, 1, false, &users, &n_users) == 0);
        for (size_t i = 0; i < n_users; i++) {
                check_user(&users[i]);
                CHECK(users[i].kind == USER_MOUNT);
                CHECK(users[i].where && users[i].where[0] == '/' &&
                      streq(users[i].where + 1, where[seen]));
                seen++;
        }
        CHECK(seen == n);
        users_free(users, n_users);
        free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct roots *r = fuzz_roots();

        if (size > 0 && data[0] == 'r')
                check_raw(r, data + 1, size - 1);
        else if (size > 0) {
                char *text = fuzz_text(data + 1, size - 1);

                check_table(r, text);
                free(text);
        }
        return 0;
}
