/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/modules.h"

#include <fcntl.h>

#include "common/child.h"
#include "common/gettext.h"
#include "common/log.h"
#include "common/names.h"
#include "common/sentence.h"
#include "common/util.h"
#include "sys/io/ask-pid1.h"
#include "sys/io/clock.h"
#include "sys/io/programs.h"
#include "sys/quirks/kmod.h"

/* PID 1 starts a unit for it, which may take a while during boot. */
#define LOAD_USEC (10 * USEC_PER_SEC)

static bool uas_driver_is_there(const struct roots *roots)
{
        return faccessat(roots->sys, SYSFS_USB_DRIVERS "/" DRIVER_NAME_UAS, F_OK, 0) == 0;
}

/* ---- by libkmod ---- */

/* Returns 0, or -ENOENT if libkmod knows no uas. */
static int kmod_find_uas(struct kmod *k, struct kmod_module **ret)
{
        struct kmod_list *list = NULL;
        int r = kmod_fetch(k);

        if (r < 0)
                return r;
        r = k->module_new_from_lookup(k->ctx, "uas", &list);
        if (r < 0)
                return r;
        if (!list)
                return -ENOENT;
        *ret = k->module_get_module(list);
        k->module_unref_list(list);
        return 0;
}

static bool kmod_is_blacklisted(const struct kmod *k, const char *name)
{
        struct kmod_config_iter *i = k->config_get_blacklists(k->ctx);
        bool found = false;

        while (i && !found && k->config_iter_next(i))
                found = streq(k->config_iter_get_key(i), name);
        if (i)
                k->config_iter_free_iter(i);
        return found;
}

static enum uas_module kmod_state(const struct kmod *k, struct kmod_module *uas)
{
        if (!k->module_get_path(uas))
                return UAS_MODULE_MISSING;
        if (k->module_get_install_commands(uas))
                return UAS_MODULE_INSTALL_LINE;
        if (kmod_is_blacklisted(k, DRIVER_NAME_UAS))
                return UAS_MODULE_BLACKLISTED;
        return UAS_MODULE_LOADABLE;
}

/*
 * A blacklist is meant only for aliases, but modprobe@.service follows it. So it keeps uas away
 * only from a process that may not load modules itself.
 */
static int kmod_load(const struct kmod *k, struct kmod_module *uas, char *why)
{
        int r;

        if (k->module_get_install_commands(uas))
                return module_refuse(why, -EPERM, N_("modprobe.d has an install line for it"));
        r = k->module_probe_insert_module(uas, KMOD_PROBE_IGNORE_COMMAND, NULL, NULL, NULL, NULL);
        if (r == -EPERM && kmod_is_blacklisted(k, DRIVER_NAME_UAS))
                return module_refuse(
                        why, -EACCES,
                        N_("modprobe.d blacklists it: load it by hand, or remove that"));
        if (r == -EPERM)
                r = pid1_ask_and_wait(PID1_ASK_START, UNIT_MODPROBE(DRIVER_NAME_UAS),
                                      awake_in(LOAD_USEC));
        if (r == -ENOENT)
                return module_refuse(why, r, N_("this kernel has none"));
        if (r < 0)
                return module_refuse(why, r, "%s", strerror(-r));
        return 0;
}

/* ---- without libkmod, or without its indexes: by the system's own program ---- */

/* True for an error of kmod_find_uas(). */
static bool programs_decide(int error)
{
        return error == -ENOENT || error == -ELIBACC || error == -ELIBBAD;
}

static enum uas_module loaders_state(const struct roots *roots)
{
        char path[MODULE_PATH_MAX];

        if (module_file_find(roots, DRIVER_NAME_UAS ".ko", path) < 0)
                return UAS_MODULE_MISSING;
        if (program_there(roots, "modprobe") || program_there(roots, "insmod"))
                return UAS_MODULE_LOADABLE;
        return UAS_MODULE_NO_LOADER;
}

/* Returns its exit status, or -errno. */
static int loader_run(const char *program, const char *argument)
{
        static const char *const folders[] = {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"};
        pid_t pid = -ENOENT;

        for (size_t i = 0; i < ELEMENTSOF(folders) && pid == -ENOENT; i++) {
                const char *const argv[] = {path_join(folders[i], program), argument, NULL};

                pid = child_spawn(
                        &(struct program){.argv = argv, .fds = {-1, -1, -1}, .new_signals = true});
        }
        if (pid < 0)
                return pid;
        return child_exit_status(pid, LOAD_USEC, 0);
}

/* error: of kmod_find_uas(). */
static int loaders_load(const struct roots *roots, int error, char *why)
{
        const char *kmod =
                error == -ENOENT ? N_("libkmod does not find it") : N_("libkmod is missing");
        const char *program = "modprobe", *argument = DRIVER_NAME_UAS;
        char path[MODULE_PATH_MAX];
        int r;

        if (module_file_find(roots, DRIVER_NAME_UAS ".ko", path) < 0)
                return module_refuse(why, -ENOENT, N_("this kernel has none"));
        if (!program_there(roots, program)) {
                program = "insmod";
                argument = path;
        }
        if (!program_there(roots, program))
                return module_refuse(why, error,
                                     N_("%s, and the system has no modprobe, no insmod"), kmod);
        r = loader_run(program, argument);
        if (r == 0)
                log_info("%s has loaded the module uas", program);
        /* In the service no program may load a module. */
        if (r > 0 && pid1_there(roots) == 0)
                r = pid1_ask_and_wait(PID1_ASK_START, UNIT_MODPROBE(DRIVER_NAME_UAS),
                                      awake_in(LOAD_USEC));
        if (r < 0)
                return module_refuse(why, r, N_("%s, and %s failed: %s"), kmod, program,
                                     strerror(-r));
        if (r > 0)
                return module_refuse(why, -EIO, N_("%s, and %s failed with exit status %i"), kmod,
                                     program, r);
        return 0;
}

/* ---- all of them ---- */

static int file_load(const struct roots *roots, const char *file, char *why)
{
        int r = module_file_insert(roots, file, why);

        if ((r != -EPERM && r != -EACCES) || pid1_there(roots) < 0)
                return r;
        (void) pid1_ask_and_wait(PID1_ASK_START, UNIT_MODULE, awake_in(LOAD_USEC));
        if (r == -EACCES)
                return module_refuse(why, r, N_("%s has not loaded it: its log has the reason"),
                                     UNIT_MODULE);
        return r;
}

static int system_load(const struct roots *roots, char *why)
{
        _cleanup_(kmod_done) struct kmod kmod = {};
        struct kmod_module *uas = NULL;
        int r = kmod_find_uas(&kmod, &uas);

        if (programs_decide(r))
                return loaders_load(roots, r, why);
        if (r < 0)
                return module_refuse(why, r, "%s", strerror(-r));
        r = kmod_load(&kmod, uas, why);
        (void) kmod.module_unref(uas);
        return r;
}

int uas_module_load(const struct roots *roots, const char *file, char why[static MODULE_WHY_MAX])
{
        int r;

        if (uas_driver_is_there(roots))
                return 0;
        if (file)
                r = file_load(roots, file, why);
        else
                r = system_load(roots, why);
        /* udev may have loaded it meanwhile. */
        if (uas_driver_is_there(roots))
                return 0;
        if (r < 0)
                return r;
        return module_refuse(why, -ENODEV, N_("nothing failed, but the kernel has no driver uas"));
}

static int module_look(const struct roots *roots, const char *file, enum uas_module *ret)
{
        _cleanup_(kmod_done) struct kmod kmod = {};
        struct module_compared compared;
        struct kmod_module *uas = NULL;
        char why[MODULE_WHY_MAX];
        int r;

        if (file) {
                r = module_file_check(roots, file, &compared, why);
                if (no_room_for_files(r))
                        return r;
                *ret = r < 0 ? UAS_MODULE_REFUSED : UAS_MODULE_LOADABLE;
                return 0;
        }
        r = kmod_find_uas(&kmod, &uas);
        if (programs_decide(r))
                *ret = loaders_state(roots);
        else if (r < 0)
                return r;
        else {
                *ret = kmod_state(&kmod, uas);
                (void) kmod.module_unref(uas);
        }
        return 0;
}

int uas_module_state(const struct roots *roots, const char *file, enum uas_module *ret)
{
        const int keep[] = {ROOTS_FDS(roots)};
        struct {
                int r;
                enum uas_module state;
        } answer = {.r = -EIO};
        pid_t pid;
        int fd, r;

        if (uas_driver_is_there(roots)) {
                *ret = UAS_MODULE_THERE;
                return 0;
        }
        pid = child_fork(keep, ELEMENTSOF(keep), &fd);
        if (pid < 0)
                return pid;
        if (pid == 0) {
                answer.r = module_look(roots, file, &answer.state);
                (void) !write(fd, &answer, sizeof(answer));
                _exit(0);
        }
        r = child_exit_status(pid, LOAD_USEC, 0);
        if (r == 0 && read(fd, &answer, sizeof(answer)) != sizeof(answer))
                r = -EIO;
        (void) close(fd);
        if (r < 0)
                return r;
        *ret = answer.state;
        return answer.r;
}

void facts_take_module(struct facts *f, enum uas_module state)
{
        f->uas_module = state;
        /* Unknown counts as available: a switch checks it before it touches the disk. */
        f->uas_kept_away = state > UAS_MODULE_LOADABLE;
}

void facts_complete_module(const struct roots *roots, const char *file, struct facts *f)
{
        enum uas_module state = UAS_MODULE_UNKNOWN;

        (void) uas_module_state(roots, file, &state);
        facts_take_module(f, state);
}
