/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/modprobed.h"

#include <fcntl.h>

#include "common/util.h"
#include "sys/dropins.h"

#define BLANK " \t\n"

struct found {
        char quirks[QUIRKS_MAX + 1];
        bool too_long;
};

/* "quirks=..." in quotes or not. */
static void take_parameter(const char *word, struct found *f)
{
        char value[1024];

        if (*word == '"')
                word++;
        if (strncmp(word, "quirks=", 7) != 0)
                return;
        word += 7;
        if (*word == '"')
                word++;
        f->too_long = !copy_string(value, sizeof(value), word);
        value[strcspn(value, "\"")] = '\0';
        f->too_long = !copy_string(f->quirks, sizeof(f->quirks), value) || f->too_long;
}

static void take_line(char *line, struct found *f)
{
        char *save = NULL, *word = strtok_r(line, BLANK, &save);

        if (!word || !streq(word, "options"))
                return;
        word = strtok_r(NULL, BLANK, &save);
        if (!word || (!streq(word, "usb-storage") && !streq(word, "usb_storage")))
                return;
        while ((word = strtok_r(NULL, BLANK, &save)))
                take_parameter(word, f);
}

static int read_file(int dirfd, const char *path, void *data)
{
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *line = NULL;
        size_t room = 0;
        int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t n;

        if (fd < 0 || !(f = fdopen(fd, "re"))) {
                (void) close_keep_errno(fd);
                return 0; /* for modprobe it is not there either */
        }
        while ((n = getline(&line, &room, f)) >= 0) {
                /* A line that goes on in the next one. */
                while (n >= 2 && line[n - 2] == '\\' && line[n - 1] == '\n') {
                        _cleanup_free_ char *more = NULL, *whole = NULL;
                        size_t more_room = 0;

                        line[n - 2] = '\0';
                        if (getline(&more, &more_room, f) < 0)
                                break;
                        if (asprintf(&whole, "%s%s", line, more) < 0) {
                                whole = NULL;
                                return -ENOMEM;
                        }
                        free(line);
                        line = TAKE_PTR(whole);
                        n = (ssize_t) strlen(line);
                        room = (size_t) n + 1;
                }
                take_line(line, data);
        }
        return 0;
}

int modprobe_quirks(const struct roots *r, char ret[static QUIRKS_MAX + 1])
{
        struct found f = { .quirks = "" };
        int k = dropins_each(r, "modprobe.d", read_file, &f);

        if (k < 0)
                return k;
        if (f.too_long)
                return -ENOSPC;
        memcpy(ret, f.quirks, sizeof(f.quirks));
        return 0;
}
