/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The timeouts of a boot, in files that admins write. 'r': the rest is fstab, and after a NUL each
 * crypttab, a drop-in of a device unit, system.conf and the kernel command line. Otherwise: lines
 * of a mount point each. The test makes fstab and crypttab of them, with a timeout that systemd
 * would read.
 */
#include "hold/allowed.h"

#include "fuzz.h"

#define MOST (90 * USEC_PER_SEC) /* DefaultDeviceTimeoutSec= */

static const char *const files[] = {
        "fstab", "crypttab", "systemd/system/dev-sda1.device.d/50-x.conf", "systemd/system.conf",
        NULL, /* proc/cmdline */
};

static void write_all(const struct roots *r, const char *const texts[static ELEMENTSOF(files)])
{
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                fuzz_file(files[i] ? r->etc : r->proc, files[i] ?: "cmdline", texts[i],
                          strlen(texts[i]));
}

static void check_raw(const struct roots *r, char *text, const char *end)
{
        const char *texts[ELEMENTSOF(files)];
        usec_t usec = 0;
        int k;

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                texts[i] = text;
                text += strlen(text);
                text += text < end;
        }
        write_all(r, texts);
        k = smallest_device_timeout(r, &usec);
        CHECK(k == 0 || k == -EBADMSG);
        CHECK(k < 0 || (usec > 0 && usec <= MOST));
}

/* A blank ends a field, and a comma an option. */
static bool is_word(const char *s)
{
        return *s && *s != '#' && !strpbrk(s, " \t,");
}

/* No line hides the shortest timeout, whatever the other fields and options are. */
static void check_made(const struct roots *r, char *text)
{
        char *fstab = NULL, *crypttab = NULL, *rest = text, *word;
        FILE *fs = open_memstream(&fstab, &(size_t){0}),
             *crypt = open_memstream(&crypttab, &(size_t){0});
        const char *texts[ELEMENTSOF(files)] = {NULL, NULL, "", "", ""};
        unsigned n = 0, shortest = 91;
        usec_t usec = 0;

        CHECK(fs && crypt);
        while ((word = fuzz_field(&rest, '\n'))) {
                unsigned seconds = 1 + (n * 37 + (unsigned) strlen(word) * 11) % 120;

                if (!is_word(word) || strstr(word, "x-systemd.device-timeout="))
                        continue;
                if (n++ % 2)
                        (void) fprintf(fs,
                                       "\t%s %s auto noauto,%s,x-systemd.device-timeout=%us\t0 0\n",
                                       word, word, word, seconds);
                else
                        (void) fprintf(crypt, "%s /dev/%s none x-systemd.device-timeout=%u,%s\n",
                                       word, word, seconds, word);
                shortest = seconds < shortest ? seconds : shortest;
        }
        CHECK(fclose(fs) == 0 && fclose(crypt) == 0);
        texts[0] = fstab;
        texts[1] = crypttab;
        write_all(r, texts);
        if (smallest_device_timeout(r, &usec) ==
            0) /* the words may be timeouts of other names, which are not numbers */
                CHECK(usec <= (shortest > 90 ? MOST : shortest * USEC_PER_SEC));
        free(fstab);
        free(crypttab);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = fuzz_text(data, size);

        if (size > 0 && *text == 'r')
                check_raw(fuzz_roots(), text + 1, text + size);
        else if (size > 0)
                check_made(fuzz_roots(), text + 1);
        free(text);
        return 0;
}
