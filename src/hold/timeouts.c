/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/timeouts.h"

#include <fcntl.h>

#include "common/util.h"
#include "core/config.h"
#include "sys/io/sysfs.h"

#define DEFAULT_USEC (90 * USEC_PER_SEC)

/* Lowers *min to the value, which ends at a character of `end`. 0 and infinity are no limit. */
static int take(const char *value, const char *end, usec_t *min)
{
        char text[64];
        usec_t v;
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

#define TAB_KEY "x-systemd.device-timeout="

/* The options of fstab and crypttab are in the fourth field. A comment does not count. */
static int take_tab_line(const char *line, usec_t *min)
{
        const char *p = line + strspn(line, " \t");

        if (*p == '#')
                return 0;
        for (unsigned field = 0; field < 3; field++) {
                p += strcspn(p, " \t\n");
                p += strspn(p, " \t");
        }
        for (;;) {
                size_t n = strcspn(p, ", \t\n");

                if (strncmp(p, TAB_KEY, strlen(TAB_KEY)) == 0) {
                        int r = take(p + strlen(TAB_KEY), ", \t\n", min);
                        if (r < 0)
                                return r;
                }
                p += n;
                if (*p != ',')
                        return 0;
                p++;
        }
}

/* Reads one of two keys of a systemd file. */
static int take_key_line(const char *line, const char *const keys[static 2], usec_t *min)
{
        line += strspn(line, " \t");
        for (size_t i = 0; i < 2; i++) {
                size_t n = strlen(keys[i]);

                if (strncmp(line, keys[i], n) != 0 || line[n + strspn(line + n, " \t")] != '=')
                        continue;
                line += n + strcspn(line + n, "=") + 1;
                line += strspn(line, " \t");
                return take(line, "\n", min);
        }
        return 0;
}

static int take_system_conf_line(const char *line, usec_t *min)
{
        return take_key_line(line, (const char *const[]){"DefaultDeviceTimeoutSec", "DefaultTimeoutStartSec"}, min);
}

static int take_device_line(const char *line, usec_t *min)
{
        return take_key_line(line, (const char *const[]){"JobRunningTimeoutSec", "JobTimeoutSec"}, min);
}

struct option_file {
        int dirfd;
        int (*take_line)(const char *line, usec_t *min);
        usec_t *min;
};

static int read_file(const struct option_file *f, const char *path)
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

struct unit_dropins {
        const struct option_file *reading;
        char path[512]; /* path of the directory */
};

static int read_dropin(const char *name, void *data)
{
        const struct unit_dropins *d = data;
        char path[1024];

        (void) snprintf(path, sizeof(path), "%s/%s", d->path, name);
        return read_file(d->reading, path);
}

/* The directory may be missing. */
static int read_dropins(const struct option_file *f, const char *parent, const char *name)
{
        struct unit_dropins d = {.reading = f};
        int r;

        (void) snprintf(d.path, sizeof(d.path), "%s/%s", parent, name);
        r = dir_each(f->dirfd, d.path, read_dropin, &d);
        return r == -ENOENT || r == -EBADF || r == -ENOTDIR ? 0 : r;
}

static int read_system_conf(int dirfd, usec_t *min)
{
        const struct option_file f = {dirfd, take_system_conf_line, min};
        int r = read_file(&f, "systemd/system.conf");

        return r < 0 ? r : read_dropins(&f, "systemd", "system.conf.d");
}

#define UNITS "systemd/system"

/* Reads x.device, x.device.d, and device.d, which is for all devices. */
static int read_device(const char *name, void *data)
{
        char path[512];

        if (has_suffix(name, ".device")) {
                (void) snprintf(path, sizeof(path), UNITS "/%s", name);
                return read_file(data, path);
        }
        return streq(name, "device.d") || has_suffix(name, ".device.d") ? read_dropins(data, UNITS, name) : 0;
}

/* systemd's generators run at the same time and convert fstab and the command line, so these are read here as well. */
static int read_devices(int dirfd, usec_t *min)
{
        struct option_file f = {dirfd, take_device_line, min};
        int r = dir_each(dirfd, UNITS, read_device, &f);

        return r == -ENOENT || r == -EBADF ? 0 : r;
}

static int read_cmdline(const struct roots *r, usec_t *min)
{
        static const char *const keys[] = {"systemd.default_device_timeout_sec=", "systemd.default_timeout_start_sec="};
        char text[4096], *save = NULL;
        int k = 0;

        if (attr_read(r->proc, "cmdline", text, sizeof(text)) < 0)
                return 0;
        /* Any option that may contain it: systemd.mount-extra=, systemd.swap-extra=, luks.options=, rootflags=. */
        for (const char *p = text; k >= 0 && (p = strstr(p, TAB_KEY)); p += strlen(TAB_KEY))
                k = take(p + strlen(TAB_KEY), ",: \"'\n", min);
        for (char *w = strtok_r(text, " \n", &save); k >= 0 && w; w = strtok_r(NULL, " \n", &save))
                for (size_t i = 0; k >= 0 && i < ELEMENTSOF(keys); i++)
                        if (strncmp(w, keys[i], strlen(keys[i])) == 0)
                                k = take(w + strlen(keys[i]), "", min);
        return k;
}

int smallest_device_timeout(const struct roots *r, usec_t *ret_usec)
{
        usec_t min = DEFAULT_USEC;
        struct option_file tab = {r->etc, take_tab_line, &min}, credential = {r->run, take_tab_line, &min};
        const int trees[] = {r->lib, r->run, r->etc};
        int k;

        k = read_file(&tab, "fstab");
        if (k >= 0)
                k = read_file(&tab, "crypttab");
        if (k >= 0)
                k = read_file(&credential, "credentials/@system/fstab.extra");
        for (size_t i = 0; k >= 0 && i < ELEMENTSOF(trees); i++) {
                k = read_system_conf(trees[i], &min);
                if (k >= 0)
                        k = read_devices(trees[i], &min);
        }
        if (k >= 0)
                k = read_cmdline(r, &min);
        if (k >= 0)
                *ret_usec = min;
        return k;
}
