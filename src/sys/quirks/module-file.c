/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/module-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/gettext.h"
#include "common/names.h"
#include "common/sentence.h"
#include "common/util.h"
#include "sys/io/sysfs.h"
#include "sys/quirks/kmod.h"

#define DEP_MAX (16 << 20)
#define UAS_ALIAS "ic08isc06ip62"   /* of the interfaces that uas takes */
#define GOT "_GLOBAL_OFFSET_TABLE_" /* of the compiler: the kernel skips it */

/* A path of the machine, for roots->etc */
#define TOP ".."
#define MODULES "/lib/modules/"

static int module_open(const struct roots *roots, const char *path)
{
        int fd = openat(roots->etc, path_join(TOP, path),
                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd < 0)
                return -errno;
        return fd;
}

/* ---- what libkmod reads in a file ---- */

struct seen {
        const struct kmod *kmod;
        struct kmod_module *module;
        struct kmod_list *used, *exported; /* symbols and their versions */
        char name[64], vermagic[128];      /* "": it has none */
        bool takes_uas;                    /* it is the driver of these interfaces */
};

static void seen_done(struct seen *s)
{
        if (s->used)
                s->kmod->module_dependency_symbols_free_list(s->used);
        if (s->exported)
                s->kmod->module_symbols_free_list(s->exported);
        if (s->module)
                (void) s->kmod->module_unref(s->module);
}

static void seen_drop(struct seen *s)
{
        seen_done(s);
        *s = (struct seen){};
}

static int seen_take_info(struct seen *s)
{
        const struct kmod *k = s->kmod;
        struct kmod_list *info = NULL;
        int r = k->module_get_info(s->module, &info);

        if (r < 0)
                return r;
        for (struct kmod_list *i = info; i; i = k->list_next(info, i)) {
                const char *key = k->module_info_get_key(i), *value = k->module_info_get_value(i);

                if (streq(key, "name"))
                        (void) copy_string(s->name, sizeof(s->name), value);
                else if (streq(key, "vermagic"))
                        (void) copy_string(s->vermagic, sizeof(s->vermagic), value);
                else if (streq(key, "alias") && strstr(value, UAS_ALIAS))
                        s->takes_uas = true;
        }
        if (info)
                k->module_info_free_list(info);
        return 0;
}

/* The descriptor leads libkmod to the file that was examined, whatever the path leads to now. */
static int seen_read(const struct kmod *k, int fd, struct seen *ret)
{
        char path[32];
        int r;

        ret->kmod = k;
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", fd);
        r = k->module_new_from_path(k->ctx, path, &ret->module);
        if (r < 0)
                return r;
        r = seen_take_info(ret);
        if (r < 0)
                return r;
        /* Both are empty in a kernel without versions. */
        (void) k->module_get_dependency_symbols(ret->module, &ret->used);
        (void) k->module_get_symbols(ret->module, &ret->exported);
        return 0;
}

/* Returns the version that the module uses or exports, or 0. */
static uint64_t seen_version(const struct seen *s, const char *symbol)
{
        const struct kmod *k = s->kmod;

        for (struct kmod_list *i = s->exported; i; i = k->list_next(s->exported, i))
                if (streq(k->module_symbol_get_symbol(i), symbol))
                        return k->module_symbol_get_crc(i);
        for (struct kmod_list *i = s->used; i; i = k->list_next(s->used, i))
                if (streq(k->module_dependency_symbol_get_symbol(i), symbol))
                        return k->module_dependency_symbol_get_crc(i);
        return 0;
}

/* ---- the modules of the running kernel ---- */

/* path: the beginning of a line of modules.dep. The file may be compressed. */
static bool dep_is(const char *path, size_t n, const char *file)
{
        const char *name = memrchr(path, '/', n);
        size_t length = strlen(file);

        name = name ? name + 1 : path;
        n -= (size_t) (name - path);
        return n >= length && memcmp(name, file, length) == 0 &&
               (n == length || name[length] == '.');
}

static int dep_find(const char *text, const char *file, const char *folder,
                    char ret[static MODULE_PATH_MAX])
{
        for (const char *line = text; *line; line = next_line(line)) {
                size_t n = strcspn(line, ":\n");
                char path[MODULE_PATH_MAX];

                if (line[n] == ':' && dep_is(line, n, file) &&
                    copy_part(path, sizeof(path), line, n) &&
                    concat(ret, MODULE_PATH_MAX, *path == '/' ? "" : folder, path))
                        return 0;
        }
        return -ENOENT;
}

int module_file_find(const struct roots *roots, const char *file, char ret[static MODULE_PATH_MAX])
{
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -1;
        char folder[MODULE_PATH_MAX];
        const char *const folders[] = {folder, MODULES};
        size_t size;
        int r;

        (void) concat(folder, sizeof(folder), MODULES, roots->kernel, "/");
        fd = openat(roots->etc, path_join(TOP, folder, "modules.dep"), O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
                r = read_whole(fd, DEP_MAX, &text, &size);
                if (r < 0)
                        return r;
                if (dep_find(text, file, folder, ret) == 0)
                        return 0;
        }
        for (size_t i = 0; i < ELEMENTSOF(folders); i++)
                if (concat(ret, MODULE_PATH_MAX, folders[i], file) &&
                    faccessat(roots->etc, path_join(TOP, ret), F_OK, 0) == 0)
                        return 0;
        return -ENOENT;
}

#define REFS_MAX 3

/* Reads the modules that uas needs, as far as they are files. */
static size_t refs_read(const struct roots *roots, const struct kmod *k, struct seen refs[REFS_MAX])
{
        static const char *const files[REFS_MAX] = {"usb-storage.ko", "usbcore.ko", "scsi_mod.ko"};
        char path[MODULE_PATH_MAX];
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_close_ int fd = -1;
                int r;

                if (module_file_find(roots, files[i], path) < 0)
                        continue;
                fd = module_open(roots, path);
                if (fd < 0)
                        continue;
                r = seen_read(k, fd, refs + n);
                /* libkmod knows a module by the path that the next file will have. */
                if (refs[n].module)
                        refs[n].module = k->module_unref(refs[n].module);
                if (r >= 0 && *refs[n].vermagic)
                        n++;
                else
                        seen_drop(refs + n);
        }
        return n;
}

/* ---- the check ---- */

int module_refuse(char why[static MODULE_WHY_MAX], int error, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        (void) sentence_valist(why, MODULE_WHY_MAX, format, ap);
        va_end(ap);
        return error;
}

static int check_owner(int fd, char *why)
{
        struct stat s;

        if (fd == -ELOOP)
                return module_refuse(why, fd, N_("it is a symbolic link"));
        if (fd == -ENOENT)
                return module_refuse(why, fd, N_("there is no such file"));
        if (fd < 0)
                return module_refuse(why, fd, "%s", strerror(-fd));
        if (fstat(fd, &s) < 0)
                return module_refuse(why, -errno, "%s", strerror(errno));
        if (!S_ISREG(s.st_mode))
                return module_refuse(why, -EINVAL, N_("it is no regular file"));
        if (s.st_uid != 0)
                return module_refuse(why, -EINVAL, N_("it does not belong to root"));
        if (s.st_mode & (S_IWGRP | S_IWOTH))
                return module_refuse(why, -EINVAL, N_("other users may write it"));
        return 0;
}

/* Modules of Linux before 4.13 do not contain their name. */
static int check_name(const struct seen *s, char *why)
{
        if (*s->name && !streq(s->name, DRIVER_NAME_UAS))
                return module_refuse(why, -ENOEXEC, N_("it is the module %s, not uas"), s->name);
        if (!*s->name && !s->takes_uas)
                return module_refuse(why, -ENOEXEC, N_("it is not the module uas"));
        return 0;
}

/* Without a module of the running kernel only the first word is known, its release. */
static int check_vermagic(const struct seen *s, const struct seen *refs, size_t n,
                          const char *release, char *why)
{
        const char *known = n > 0 ? refs[0].vermagic : release, *rest;

        if (!*s->vermagic)
                return module_refuse(why, -ENOEXEC,
                                     N_("it does not say for which kernel it was built"));
        rest = startswith(s->vermagic, known);
        if (rest && (*rest == '\0' || (n == 0 && *rest == ' ')))
                return 0;
        return module_refuse(why, -ENOEXEC,
                             N_("it was built for the kernel '%s', and this is '%s'"), s->vermagic,
                             known);
}

/* Some kernels load a module without versions, and most accept a symbol without one. */
static int check_versions(const struct seen *s, const struct seen *refs, size_t n,
                          struct module_compared *ret, char *why)
{
        const struct kmod *k = s->kmod;

        if (!strstr(s->vermagic, "modversions"))
                return 0;
        for (struct kmod_list *i = s->used; i; i = k->list_next(s->used, i)) {
                const char *symbol = k->module_dependency_symbol_get_symbol(i);
                uint64_t ours = k->module_dependency_symbol_get_crc(i), theirs = 0;

                if (streq(symbol, GOT) ||
                    (ours == 0 && k->module_dependency_symbol_get_bind(i) == KMOD_SYMBOL_WEAK))
                        continue;
                if (ours == 0)
                        return module_refuse(why, -ENOEXEC,
                                             N_("it has no version of the symbol %s"), symbol);
                for (size_t j = 0; j < n && theirs == 0; j++)
                        theirs = seen_version(refs + j, symbol);
                if (theirs != 0 && theirs != ours)
                        return module_refuse(why, -ENOEXEC,
                                             N_("this kernel has another version of the symbol %s"),
                                             symbol);
                ret->symbols++;
                ret->compared += theirs != 0;
        }
        if (ret->symbols == 0)
                return module_refuse(why, -ENOEXEC, N_("it has no versions of symbols"));
        return 0;
}

static int check_content(const struct roots *roots, const struct seen *s,
                         struct module_compared *ret, char *why)
{
        struct seen refs[REFS_MAX] = {};
        size_t n;
        int r = check_name(s, why);

        if (r < 0)
                return r;
        n = refs_read(roots, s->kmod, refs);
        r = check_vermagic(s, refs, n, roots->kernel, why);
        if (r == 0)
                r = check_versions(s, refs, n, ret, why);
        for (size_t i = 0; i < n; i++)
                seen_done(refs + i);
        return r;
}

/* ---- loading ---- */

/* The kernel marks the mode in force: "none [integrity] confidentiality". */
static bool kernel_is_locked_down(const struct roots *roots)
{
        char mode[64];

        return attr_read(roots->sys, "kernel/security/lockdown", mode, sizeof(mode)) > 0 &&
               !strstr(mode, "[none]");
}

static bool modules_are_off(const struct roots *roots)
{
        char off[8];

        return attr_read(roots->proc, "sys/kernel/modules_disabled", off, sizeof(off)) > 0 &&
               streq(off, "1");
}

static int insert_refused(const struct roots *roots, int error, char *why)
{
        if (error == -EPERM && modules_are_off(roots))
                return module_refuse(why, error,
                                     N_("this kernel loads no module until it restarts"));
        if (error == -EPERM && geteuid() != 0)
                return module_refuse(why, error, N_("only root may load modules"));
        if (error == -EPERM && kernel_is_locked_down(roots))
                return module_refuse(
                        why, error, N_("the kernel is locked down, and takes only signed modules"));
        if (error == -EPERM)
                return module_refuse(why, -EACCES, N_("this process may not load modules"));
        if (error == -ENOKEY || error == -EKEYREJECTED)
                return module_refuse(why, error, N_("the kernel does not know its signature"));
        if (error == -ENOENT)
                return module_refuse(
                        why, error,
                        N_("the kernel lacks a symbol that it uses: the kernel log names it"));
        if (error == -ENOEXEC || error == -EINVAL)
                return module_refuse(why, error,
                                     N_("the kernel refuses it: the kernel log has the reason"));
        return module_refuse(why, error, "%s", strerror(-error));
}

static int file_try(const struct roots *roots, const char *path, bool insert,
                    struct module_compared *ret, char *why)
{
        _cleanup_(kmod_done) struct kmod kmod = {};
        _cleanup_(seen_done) struct seen seen = {};
        _cleanup_close_ int fd = module_open(roots, path);
        int r = check_owner(fd, why);

        if (r < 0)
                return r;
        r = kmod_fetch(&kmod);
        if (r < 0)
                return module_refuse(why, r, N_("libkmod is missing, so it cannot be checked"));
        r = seen_read(&kmod, fd, &seen);
        if (no_room_for_files(r))
                return module_refuse(why, r, "%s", strerror(-r));
        if (r < 0)
                return module_refuse(why, -ENOEXEC, N_("it is no kernel module, or it is damaged"));
        r = check_content(roots, &seen, ret, why);
        if (r < 0 || !insert)
                return r;
        r = kmod.module_insert_module(seen.module, 0, NULL);
        if (r < 0 && r != -EEXIST)
                return insert_refused(roots, r, why);
        return 0;
}

int module_file_check(const struct roots *roots, const char *path, struct module_compared *ret,
                      char why[static MODULE_WHY_MAX])
{
        *ret = (struct module_compared){};
        return file_try(roots, path, false, ret, why);
}

int module_file_insert(const struct roots *roots, const char *path, char why[static MODULE_WHY_MAX])
{
        struct module_compared compared = {};

        return file_try(roots, path, true, &compared, why);
}
