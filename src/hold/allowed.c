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
        (void) snprintf(text, sizeof(text),
                        "[Timer]\n" KEY_HOLD "=\n" KEY_HOLD "=%llums\n" KEY_DEVICE_TIMEOUT
                        "=%llums\n",
                        (unsigned long long) (l->hold / USEC_PER_MSEC),
                        (unsigned long long) (l->device_timeout / USEC_PER_MSEC));
        r = state_write(dirfd, LIMITS_DROPIN, text, false);
        if (r < 0)
                return r;
        if (symlinkat(LIMITS_DROPIN, dirfd, link) < 0 && errno != EEXIST)
                return -errno;
        return 0;
}

static int limits_line(const char *key, const char *value, void *data)
{
        struct hold_limits *l = data;
        usec_t *v = NULL;

        if (streq(key, KEY_HOLD))
                v = &l->hold;
        if (streq(key, KEY_DEVICE_TIMEOUT))
                v = &l->device_timeout;
        if (!v || !*value)
                return 0;
        return parse_seconds(value, v);
}

int limits_read(const struct roots *roots, struct hold_limits *ret)
{
        struct hold_limits l = {0};
        char path[128];
        int r;

        /* The link allows holds. State files are not read through links, so its target is read
         * directly. */
        if (faccessat(roots->run, RUN_HOLD_ALLOWED, R_OK, 0) < 0)
                return -errno;
        (void) snprintf(path, sizeof(path), "%.*s" LIMITS_DROPIN,
                        (int) (strrchr(RUN_HOLD_ALLOWED, '/') + 1 - RUN_HOLD_ALLOWED),
                        RUN_HOLD_ALLOWED);
        r = state_read(roots->run, path, limits_line, &l);
        if (r < 0)
                return r;
        if (r == 0)
                return -ENOENT;
        if (l.hold == 0 || l.device_timeout == 0)
                return -EBADMSG;
        *ret = l;
        return 0;
}

#define UNITS "systemd/system"

/* Returns true for a link to /dev/null, or an empty file. */
static bool service_masked_in(int dirfd)
{
        char target[PATH_MAX];
        struct stat st;

        if (link_basename(dirfd, UNITS "/" UNIT_SERVICE, target, sizeof(target)) >= 0)
                return streq(target, "null");
        return fstatat(dirfd, UNITS "/" UNIT_SERVICE, &st, 0) >= 0 && S_ISREG(st.st_mode) &&
               st.st_size == 0;
}

static bool service_wanted_in(int dirfd)
{
        _cleanup_strv_ char **names = NULL;
        int n = dir_list(dirfd, UNITS, "", &names);
        char target[PATH_MAX];

        for (int i = 0; i < n; i++)
                if ((endswith(names[i], ".wants") || endswith(names[i], ".requires")) &&
                    link_basename(dirfd, path_join(UNITS "/", names[i], "/" UNIT_SERVICE), target,
                                  sizeof(target)) >= 0 &&
                    !streq(target, "null"))
                        return true;
        return false;
}

bool service_enabled(const struct roots *roots)
{
        if (service_masked_in(roots->etc) || service_masked_in(roots->run))
                return false;
        if (cmdline_has(roots, "systemd.mask=" UNIT_SERVICE) ||
            cmdline_has(roots, "systemd.mask=uasd"))
                return false;
        return service_wanted_in(roots->etc) || service_wanted_in(roots->run) ||
               service_wanted_in(roots->lib);
}

#define DEFAULT_USEC (90 * USEC_PER_SEC)

/* Lowers *min to the value, which ends at a character of `end`. 0 and infinity are no limit. */
static int limit_lower(const char *value, const char *end, usec_t *min)
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
        if (streq(text, "infinity") || !*text)
                return 0;
        if (parse_seconds(text, &v) < 0)
                return -EBADMSG;
        if (v > 0 && v < *min)
                *min = v;
        return 0;
}

/* Of fstab; the second is crypttab's, and limits the wait for the device that has the key. */
static const char *const tab_keys[2] = {"x-systemd.device-timeout=", "keyfile-timeout="};
static const char *const system_conf_keys[2] = {"DefaultDeviceTimeoutSec",
                                                "DefaultTimeoutStartSec"};
static const char *const device_keys[2] = {"JobRunningTimeoutSec", "JobTimeoutSec"};

/* The options of fstab and crypttab are in the fourth field. A comment does not count. */
static int limit_take_tab_line(const char *line, usec_t *min)
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
                        int r;

                        if (!value)
                                continue;
                        r = limit_lower(value, ", \t\n", min);
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
static int limit_take_key_line(const char *line, const char *const keys[static 2], usec_t *min)
{
        line += strspn(line, " \t");
        for (size_t i = 0; i < 2; i++) {
                const char *rest = startswith(line, keys[i]);

                if (!rest || rest[strspn(rest, " \t")] != '=')
                        continue;
                line = strchr(rest, '=') + 1;
                line += strspn(line, " \t");
                return limit_lower(line, "\n", min);
        }
        return 0;
}

/* keys: one of the lists above. The file may be missing. */
static int limit_read_file(int dirfd, const char *path, const char *const keys[static 2],
                           usec_t *min)
{
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *line = NULL;
        size_t room = 0;
        int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;

        if (fd < 0 || !(file = fdopen(fd, "re"))) {
                (void) close_keep_errno(fd);
                return errno == ENOENT || errno == EBADF ? 0 : -errno;
        }
        for (;;) {
                r = read_line(file, &line, &room);
                if (r <= 0)
                        return r;
                r = keys == tab_keys ? limit_take_tab_line(line, min)
                                     : limit_take_key_line(line, keys, min);
                if (r < 0)
                        return r;
        }
}

/* The directory may be missing. */
static int limit_read_dropins(int dirfd, const char *path, const char *const keys[static 2],
                              usec_t *min)
{
        _cleanup_strv_ char **names = NULL;
        int n = dir_list(dirfd, path, "", &names);

        if (n == -ENOENT || n == -EBADF || n == -ENOTDIR)
                return 0;
        for (int i = 0; i < n; i++) {
                int r = limit_read_file(dirfd, path_join(path, "/", names[i]), keys, min);

                if (r < 0)
                        return r;
        }
        return n < 0 ? n : 0;
}

/*
 * Reads x.device, x.device.d, and device.d, which is for all devices. systemd's generators run at
 * the same time and convert fstab and the command line, so these are read here as well.
 */
static int limit_read_devices(int dirfd, usec_t *min)
{
        _cleanup_strv_ char **names = NULL;
        int n = dir_list(dirfd, UNITS, "", &names), r = 0;

        if (n == -ENOENT || n == -EBADF)
                return 0;
        for (int i = 0; i < n; i++) {
                if (endswith(names[i], ".device"))
                        r = limit_read_file(dirfd, path_join(UNITS "/", names[i]), device_keys,
                                            min);
                else if (streq(names[i], "device.d") || endswith(names[i], ".device.d"))
                        r = limit_read_dropins(dirfd, path_join(UNITS "/", names[i]), device_keys,
                                               min);
                if (r < 0)
                        return r;
        }
        return n < 0 ? n : 0;
}

static int limit_read_cmdline(const struct roots *roots, usec_t *min)
{
        static const char *const keys[] = {"systemd.default_device_timeout_sec=",
                                           "systemd.default_timeout_start_sec="};
        char text[4096], *save = NULL;
        int r;

        if (attr_read(roots->proc, "cmdline", text, sizeof(text)) < 0)
                return 0;
        /* Any option that may contain it: systemd.mount-extra=, systemd.swap-extra=, luks.options=,
         * rootflags=. */
        for (size_t i = 0; i < ELEMENTSOF(tab_keys); i++)
                for (const char *p = text; (p = strstr(p, tab_keys[i]));) {
                        p += strlen(tab_keys[i]);
                        r = limit_lower(p, ",: \"'\n", min);
                        if (r < 0)
                                return r;
                }
        for (char *w = strtok_r(text, " \n", &save); w; w = strtok_r(NULL, " \n", &save))
                for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                        const char *value = startswith(w, keys[i]);

                        if (!value)
                                continue;
                        r = limit_lower(value, "", min);
                        if (r < 0)
                                return r;
                }
        return 0;
}

int smallest_device_timeout(const struct roots *roots, usec_t *ret_usec)
{
        usec_t min = DEFAULT_USEC;
        const int trees[] = {roots->lib, roots->run, roots->etc};
        int r;

        r = limit_read_file(roots->etc, "fstab", tab_keys, &min);
        if (r < 0)
                return r;
        r = limit_read_file(roots->etc, "crypttab", tab_keys, &min);
        if (r < 0)
                return r;
        r = limit_read_file(roots->run, "credentials/@system/fstab.extra", tab_keys, &min);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(trees); i++) {
                r = limit_read_file(trees[i], "systemd/system.conf", system_conf_keys, &min);
                if (r < 0)
                        return r;
                r = limit_read_dropins(trees[i], "systemd/system.conf.d", system_conf_keys, &min);
                if (r < 0)
                        return r;
                r = limit_read_devices(trees[i], &min);
                if (r < 0)
                        return r;
        }
        r = limit_read_cmdline(roots, &min);
        if (r < 0)
                return r;
        *ret_usec = min;
        return 0;
}
