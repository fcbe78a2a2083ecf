/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/timeouts.h"

#include <fcntl.h>

#include "common/util.h"
#include "core/config.h"
#include "sys/sysfs.h"

#define DEFAULT_USEC (90 * USEC_PER_SEC)

/* Takes the value up to a character of `end` into account. 0 and infinity are no limit. */
static int take(const char *value, const char *end, uint64_t *min)
{
        char text[64];
        uint64_t v;
        size_t n = strcspn(value, end);

        if (n > 0 && (value[0] == '"' || value[0] == '\'')) {
                value++;
                n = strcspn(value, "\"'");
        }
        if (n >= sizeof(text))
                return -EBADMSG;
        memcpy(text, value, n);
        text[n] = '\0';
        if (streq(text, "infinity") || streq(text, "0") || !*text)
                return 0;
        if (parse_seconds(text, &v) < 0)
                return -EBADMSG;
        if (v > 0 && v < *min)
                *min = v;
        return 0;
}

/* fstab and crypttab have their options in the fourth field; a comment's do not count. */
static int take_tab_line(const char *line, uint64_t *min)
{
        static const char key[] = "x-systemd.device-timeout=";
        const char *p = line + strspn(line, " \t");

        if (*p == '#')
                return 0;
        for (unsigned field = 0; field < 3; field++) {
                p += strcspn(p, " \t\n");
                p += strspn(p, " \t");
        }
        for (;;) {
                size_t n = strcspn(p, ", \t\n");

                if (n >= sizeof(key) - 1 && memcmp(p, key, sizeof(key) - 1) == 0) {
                        int r = take(p + sizeof(key) - 1, ", \t\n", min);
                        if (r < 0)
                                return r;
                }
                p += n;
                if (*p != ',')
                        return 0;
                p++;
        }
}

static int take_system_conf_line(const char *line, uint64_t *min)
{
        static const char *const keys[] = {"DefaultDeviceTimeoutSec=", "DefaultTimeoutStartSec="};

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (strncmp(line, keys[i], strlen(keys[i])) == 0)
                        return take(line + strlen(keys[i]), "\n", min);
        return 0;
}

struct reading {
        int dirfd;
        int (*take_line)(const char *line, uint64_t *min);
        uint64_t *min;
};

static int read_file(const struct reading *f, const char *path)
{
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *line = NULL;
        size_t room = 0;
        int r = 0, fd;

        fd = openat(f->dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || !(file = fdopen(fd, "re"))) {
                (void) close_keep_errno(fd);
                return errno == ENOENT || errno == EBADF ? 0 : -errno;
        }
        while (r >= 0 && getline(&line, &room, file) >= 0)
                r = f->take_line(line, f->min);
        return r;
}

static int read_dropin(const char *name, void *data)
{
        char path[512];

        (void) snprintf(path, sizeof(path), "systemd/system.conf.d/%s", name);
        return read_file(data, path);
}

static int read_system_conf(int dirfd, uint64_t *min)
{
        struct reading f = {dirfd, take_system_conf_line, min};
        int r = read_file(&f, "systemd/system.conf");

        if (r >= 0)
                r = dir_each(dirfd, "systemd/system.conf.d", read_dropin, &f);
        return r == -ENOENT || r == -EBADF ? 0 : r;
}

static int read_cmdline(const struct roots *r, uint64_t *min)
{
        static const char *const keys[] = {"systemd.default_device_timeout_sec=",
                                           "systemd.default_timeout_start_sec="};
        char text[4096], *save = NULL;
        int k = 0;

        if (attr_read(r->proc, "cmdline", text, sizeof(text)) < 0)
                return 0;
        for (char *w = strtok_r(text, " \n", &save); k >= 0 && w; w = strtok_r(NULL, " \n", &save))
                for (size_t i = 0; k >= 0 && i < ELEMENTSOF(keys); i++)
                        if (strncmp(w, keys[i], strlen(keys[i])) == 0)
                                k = take(w + strlen(keys[i]), "", min);
        return k;
}

int smallest_device_timeout(const struct roots *r, uint64_t *ret_usec)
{
        uint64_t min = DEFAULT_USEC;
        struct reading tab = {r->etc, take_tab_line, &min};
        int k;

        k = read_file(&tab, "fstab");
        if (k >= 0)
                k = read_file(&tab, "crypttab");
        if (k >= 0)
                k = read_system_conf(r->lib, &min);
        if (k >= 0)
                k = read_system_conf(r->etc, &min);
        if (k >= 0)
                k = read_cmdline(r, &min);
        if (k >= 0)
                *ret_usec = min;
        return k;
}
