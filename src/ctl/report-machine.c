/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <sys/utsname.h>

#include "common/names.h"
#include "common/util.h"
#include "ctl/capture.h"
#include "ctl/output.h"
#include "ctl/report.h"
#include "sys/io/sysfs.h"
#include "sys/state/conf.h"
#include "sys/udev/bridgedb.h"

/* The part of a report about the machine. */

#define OS_NAME "PRETTY_NAME="

/* Prints the parameters of the kernel command line that concern USB disks. */
static void print_command_line(const struct roots *r)
{
        static const char *const begins[] = {"uasd", "rd.uasd",  "usb-storage.",      "usb_storage.",
                                             "uas.", "usbcore.", "module_blacklist=", "modprobe.blacklist="};
        char line[4096], told[1024] = "", *rest = line;
        size_t used = 0;

        if (r->proc < 0 || attr_read(r->proc, "cmdline", line, sizeof(line)) < 0)
                return;
        for (char *word; (word = strsep(&rest, " ")) && used < sizeof(told);)
                for (size_t i = 0; i < ELEMENTSOF(begins); i++)
                        if (strncmp(word, begins[i], strlen(begins[i])) == 0) {
                                used += (size_t) snprintf(told + used, sizeof(told) - used, "%s%s", used ? " " : "", word);
                                break;
                        }
        output_field("Kernel", told[0] ? told : "(nothing about USB disks on its command line)");
}

/* PRETTY_NAME of os-release(5). */
static void print_distribution(const struct roots *r)
{
        _cleanup_free_ char *name = NULL;
        char text[4096];
        const char *at;

        if ((r->etc < 0 || attr_read(r->etc, "os-release", text, sizeof(text)) <= 0) &&
            (r->lib < 0 || attr_read(r->lib, "os-release", text, sizeof(text)) <= 0))
                return;
        at = strncmp(text, OS_NAME, strlen(OS_NAME)) == 0 ? text : strstr(text, "\n" OS_NAME);
        if (!at)
                return;
        at += strlen(OS_NAME) + (*at == '\n');
        at += strspn(at, "\"'");
        name = strndup(at, strcspn(at, "\"'\n"));
        if (name)
                output_field("OS", name);
}

/* "systemd 252 (252.30-1~deb12u2)" */
static void print_systemd(const char *root)
{
        _cleanup_free_ char *text = NULL;
        char program[PATH_MAX];

        (void) snprintf(program, sizeof(program), "%s" PROGRAM_SYSTEMCTL, root ?: "");
        if (capture((const char *const[]){program, "--version", NULL}, 5 * USEC_PER_SEC, &text) != 0)
                return;
        text[strcspn(text, "\n")] = '\0';
        output_field("Manager", text);
}

static void put_seconds(char *told, size_t size, const char *key, uint64_t usec)
{
        (void) snprintf(told + strlen(told), size - strlen(told), "%s%s=%llums", *told ? ", " : "", key,
                        (unsigned long long) usec / USEC_PER_MSEC);
}

static void put_word(char *told, size_t size, const char *key, const char *value)
{
        (void) snprintf(told + strlen(told), size - strlen(told), "%s%s=%s", *told ? ", " : "", key, value);
}

/* Prints the values of uasd.conf that differ from the defaults. */
static void print_configuration(const struct ctl *c)
{
        _cleanup_(config_done) struct config config, usual;
        char told[1024] = "";

        config_init(&config);
        config_init(&usual);
        if (conf_load(&c->client.roots, &config, NULL, NULL) < 0)
                return;
        if (config.policy != usual.policy)
                put_word(told, sizeof(told), "Policy", policy_to_string(config.policy));
        if (config.unknown_target != usual.unknown_target)
                put_word(told, sizeof(told), "Unknown", driver_to_string(config.unknown_target));
        if (config.quiet_usec != usual.quiet_usec)
                put_seconds(told, sizeof(told), "QuietSec", config.quiet_usec);
        if (config.hold_usec != usual.hold_usec)
                put_seconds(told, sizeof(told), "HoldSec", config.hold_usec);
        if (config.trial_usec != usual.trial_usec)
                put_seconds(told, sizeof(told), "TrialSec", config.trial_usec);
        output_field("Settings", told[0] ? told : "(as by default)");
        for (size_t i = 0; i < config.n_rules; i++) {
                const struct disk_rule *d = &config.rules[i];

                (void) snprintf(told, sizeof(told), "[Disk %04x:%04x%s%s] Policy=%s", d->vid, d->pid, d->serial ? ":" : "",
                                !d->serial           ? ""
                                : c->options->redact ? REDACTED
                                                     : d->serial,
                                policy_to_string(d->policy));
                output_field("Settings", told);
        }
}

void report_machine(const struct ctl *c, bool daemon)
{
        char platform[PLATFORM_MAX], quirks[QUIRKS_MAX + 1], text[512];
        struct utsname u;

        output_field("uasctl", UASD_VERSION);
        output_field("uasd", daemon ? "answers" : "does not answer");
        if (uname(&u) == 0) {
                (void) snprintf(text, sizeof(text), "%s %s %s", u.sysname, u.release, u.machine);
                output_field("System", text);
        }
        print_distribution(&c->client.roots);
        print_systemd(c->root);
        platform_read(&c->client.roots, platform);
        output_field("Host", platform);
        print_command_line(&c->client.roots);
        if (attr_read(c->client.roots.sys, SYSFS_QUIRKS, quirks, sizeof(quirks)) >= 0)
                output_field("Quirks", quirks[0] ? quirks : "(none)");
        print_configuration(c);
}
