/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold/allowed.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/util.h"
#include "core/config.h"
#include "sys/io/boot.h"
#include "sys/io/statefile.h"
#include "sys/io/sysfs.h"

/* systemd ignores keys with X- without a message. */
#define KEY_HOLD "OnActiveSec"
#define KEY_DEVICE_TIMEOUT "X-DeviceTimeoutSec"

int limits_write(int dirfd, const struct hold_limits *l)
{
        const char *link = strrchr(RUN_HOLD_ALLOWED, '/') + 1;
        char text[256];
        int r;

        /* The empty assignment drops the timer's own OnActiveSec=. */
        (void) snprintf(text, sizeof(text), "[Timer]\n" KEY_HOLD "=\n" KEY_HOLD "=%llums\n" KEY_DEVICE_TIMEOUT "=%llums\n",
                        (unsigned long long) (l->hold / USEC_PER_MSEC), (unsigned long long) (l->device_timeout / USEC_PER_MSEC));
        r = state_write(dirfd, LIMITS_DROPIN, text, false);
        if (r < 0)
                return r;
        return symlinkat(LIMITS_DROPIN, dirfd, link) < 0 && errno != EEXIST ? -errno : 0;
}

static int limits_line(const char *key, const char *value, void *data)
{
        struct hold_limits *l = data;
        usec_t *v = streq(key, KEY_HOLD) ? &l->hold : streq(key, KEY_DEVICE_TIMEOUT) ? &l->device_timeout : NULL;

        return v && *value ? parse_seconds(value, v) : 0;
}

int limits_read(const struct roots *r, struct hold_limits *ret)
{
        struct hold_limits l = {0};
        char path[128];
        int k;

        /* The link allows holds. State files are not read through links, so its target is read directly. */
        if (faccessat(r->run, RUN_HOLD_ALLOWED, R_OK, 0) < 0)
                return -errno;
        (void) snprintf(path, sizeof(path), "%.*s" LIMITS_DROPIN, (int) (strrchr(RUN_HOLD_ALLOWED, '/') + 1 - RUN_HOLD_ALLOWED),
                        RUN_HOLD_ALLOWED);
        k = state_read(r->run, path, limits_line, &l);
        if (k <= 0)
                return k < 0 ? k : -ENOENT;
        if (l.hold == 0 || l.device_timeout == 0)
                return -EBADMSG;
        *ret = l;
        return 0;
}

#define UNITS "systemd/system"

/* Returns true for a link to /dev/null, or an empty file. */
static bool masked_in(int dirfd)
{
        char target[PATH_MAX];
        struct stat st;

        if (link_basename(dirfd, UNITS "/" UNIT_SERVICE, target, sizeof(target)) >= 0)
                return streq(target, "null");
        return fstatat(dirfd, UNITS "/" UNIT_SERVICE, &st, 0) >= 0 && S_ISREG(st.st_mode) && st.st_size == 0;
}

static bool wanted_in(int dirfd)
{
        _cleanup_strv_ char **names = NULL;
        int n = dirfd < 0 ? 0 : dir_list(dirfd, UNITS, "", &names);
        char target[PATH_MAX];

        for (int i = 0; i < n; i++)
                if ((endswith(names[i], ".wants") || endswith(names[i], ".requires")) &&
                    link_basename(dirfd, path_join(UNITS "/", names[i], "/" UNIT_SERVICE), target, sizeof(target)) >= 0 &&
                    !streq(target, "null"))
                        return true;
        return false;
}

bool service_enabled(const struct roots *r)
{
        return !masked_in(r->etc) && !masked_in(r->run) && !cmdline_has(r, "systemd.mask=" UNIT_SERVICE) &&
               !cmdline_has(r, "systemd.mask=uasd") && (wanted_in(r->etc) || wanted_in(r->run) || wanted_in(r->lib));
}

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

/* The second is crypttab's, and limits the wait for the device that has the key. */
static const char *const tab_keys[] = {"x-systemd.device-timeout=", "keyfile-timeout="};

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

                for (size_t i = 0; i < ELEMENTSOF(tab_keys); i++) {
                        const char *value = startswith(p, tab_keys[i]);
                        int r = value ? take(value, ", \t\n", min) : 0;

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
                const char *rest = startswith(line, keys[i]);

                if (!rest || rest[strspn(rest, " \t")] != '=')
                        continue;
                line = strchr(rest, '=') + 1;
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
        while (r >= 0 && (r = read_line(file, &line, &room)) > 0)
                r = f->take_line(line, f->min);
        return r < 0 ? r : 0;
}

/* The directory may be missing. */
static int read_dropins(const struct option_file *f, const char *path)
{
        struct option_file here = *f;
        _cleanup_close_ int fd = openat(f->dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_strv_ char **names = NULL;
        int n = fd < 0 ? -errno : dir_list(fd, ".", "", &names), r = n < 0 ? n : 0;

        here.dirfd = fd;
        for (char **name = names; r >= 0 && name && *name; name++)
                r = read_file(&here, *name);
        return r == -ENOENT || r == -EBADF || r == -ENOTDIR ? 0 : r;
}

static int read_system_conf(int dirfd, usec_t *min)
{
        const struct option_file f = {dirfd, take_system_conf_line, min};
        int r = read_file(&f, "systemd/system.conf");

        return r < 0 ? r : read_dropins(&f, "systemd/system.conf.d");
}

/*
 * Reads x.device, x.device.d, and device.d, which is for all devices. systemd's generators run at the same time and convert fstab
 * and the command line, so these are read here as well.
 */
static int read_devices(int dirfd, usec_t *min)
{
        const struct option_file f = {dirfd, take_device_line, min};
        _cleanup_strv_ char **names = NULL;
        int n = dir_list(dirfd, UNITS, "", &names), r = n < 0 ? n : 0;

        for (int i = 0; i < n && r >= 0; i++)
                if (endswith(names[i], ".device"))
                        r = read_file(&f, path_join(UNITS "/", names[i]));
                else if (streq(names[i], "device.d") || endswith(names[i], ".device.d"))
                        r = read_dropins(&f, path_join(UNITS "/", names[i]));
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
        for (size_t i = 0; i < ELEMENTSOF(tab_keys); i++)
                for (const char *p = text; k >= 0 && (p = strstr(p, tab_keys[i]));) {
                        p += strlen(tab_keys[i]);
                        k = take(p, ",: \"'\n", min);
                }
        for (char *w = strtok_r(text, " \n", &save); k >= 0 && w; w = strtok_r(NULL, " \n", &save))
                for (size_t i = 0; k >= 0 && i < ELEMENTSOF(keys); i++)
                        if (startswith(w, keys[i]))
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
