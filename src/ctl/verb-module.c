/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/context.h"
#include "ctl/output.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/names.h"
#include "ctl/verbs.h"
#include "sys/quirks/modules.h"
#include "sys/state/conf.h"

/* Checks the file; with --load it also loads it, without the help of PID 1: uasd-module.service is
 * this. */
static int module_do_file(const struct ctl *c, const char *path)
{
        struct module_compared seen;
        char why[MODULE_WHY_MAX];

        if (*path != '/')
                return log_failure(UASD_EXIT_USAGE, "The path of a module begins with /: %s", path);
        if (module_file_check(&c->client.roots, path, &seen, why) < 0)
                return log_failure(UASD_EXIT_FAILED, "%s is refused: %s.", path, why);
        if (c->options->given & OPTION_LOAD) {
                if (module_file_insert(&c->client.roots, path, why) < 0)
                        return log_failure(UASD_EXIT_FAILED, "%s cannot be loaded: %s.", path, why);
                log_info("%s is loaded.", path);
                return UASD_EXIT_OK;
        }
        printf(_("%s is the module uas for this kernel.\n"), HARMLESS(path));
        if (seen.compared < seen.symbols)
                printf(_("Versions of symbols that cannot be compared here: %u of %u. The kernel compares all of them when it loads the file.\n"),
                       seen.symbols - seen.compared, seen.symbols);
        return UASD_EXIT_OK;
}

static int module_report_missing(const struct ctl *c)
{
        if (faccessat(c->client.roots.etc, ".." MODULE_OF_DSM, F_OK, 0) < 0)
                return log_failure(UASD_EXIT_FAILED,
                                   "This kernel has no module uas, or it is not installed.");
        return log_failure(
                UASD_EXIT_FAILED,
                "This kernel has no module uas. Another package has one: write Module=%s to uasd.conf.",
                MODULE_OF_DSM);
}

static int module_do_system(const struct ctl *c)
{
        static const char *const texts[_UAS_MODULE_MAX] = {
                [UAS_MODULE_THERE] = N_("uas is loaded."),
                [UAS_MODULE_LOADABLE] = N_("uas is not loaded, and can be."),
                [UAS_MODULE_BLACKLISTED] = N_("uas is not loaded: modprobe.d blacklists it."),
                [UAS_MODULE_INSTALL_LINE] =
                        N_("uas is not loaded: modprobe.d has an install line for it."),
                [UAS_MODULE_NO_LOADER] = N_(
                        "uas is not loaded: libkmod cannot load it, and the system has no modprobe, no insmod."),
        };
        enum uas_module state = UAS_MODULE_UNKNOWN;
        char why[MODULE_WHY_MAX];
        int r;

        if (c->options->given & OPTION_LOAD) {
                if (uas_module_load(&c->client.roots, NULL, why) < 0)
                        return log_failure(UASD_EXIT_FAILED, "The module uas cannot be loaded: %s.",
                                           why);
                state = UAS_MODULE_THERE;
        } else {
                r = uas_module_state(&c->client.roots, NULL, &state);
                if (r < 0)
                        return log_failure(UASD_EXIT_FAILED, "Cannot look for the module uas: %s",
                                           strerror(-r));
        }
        if (state == UAS_MODULE_MISSING)
                return module_report_missing(c);
        if (state > UAS_MODULE_LOADABLE)
                return log_failure(UASD_EXIT_FAILED, "%s", _(texts[state]));
        puts(_(texts[state]));
        return UASD_EXIT_OK;
}

int verb_module(struct ctl *c, char **args)
{
        _cleanup_(config_done) struct config config;
        int r;

        config_init(&config);
        if (args[0])
                return module_do_file(c, args[0]);
        r = conf_load(&c->client.roots, &config, NULL, NULL);
        if (r < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot read uasd.conf: %s", strerror(-r));
        if (config.module)
                return module_do_file(c, config.module);
        return module_do_system(c);
}
