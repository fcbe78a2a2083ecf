/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/conf.h"

#include <fcntl.h>
#include <ini.h>

#include "common/names.h"
#include "common/util.h"
#include "sys/await.h"
#include "sys/bridgedb.h"
#include "sys/dropins.h"
#include "sys/keepoff.h"
#include "sys/marks.h"
#include "sys/past.h"
#include "sys/policies.h"
#include "sys/sysfs.h"
#include "sys/udevdb.h"

struct load {
        struct config *config;
        int error;
        int culprit; /* errno of the first assignment refused */
};

static int assign(void *data, const char *section, const char *name, const char *value)
{
        struct load *l = data;
        int r = config_set(l->config, section, name, value);

        if (r == -ENOMEM)
                l->error = r;
        else if (r < 0 && !l->culprit)
                l->culprit = r;
        return r >= 0; /* inih remembers the line of the first refusal, and goes on */
}

static int load_file(int dirfd, const char *path, struct config *c, conf_complain_fn complain, void *data)
{
        _cleanup_fclose_ FILE *f = NULL;
        struct load l = { c, 0, 0 };
        int fd, line;

        fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || !(f = fdopen(fd, "re"))) {
                if (errno != ENOENT && complain)
                        complain(path, 0, strerror(errno), data);
                (void) close_keep_errno(fd);
                return 0;
        }
        line = ini_parse_file(f, assign, &l);
        if (line > 0 && complain)
                complain(path, line,
                         l.culprit == -ENOENT ? "no such section or key" :
                         l.culprit == -EINVAL ? "value not understood" :
                                                "not a KEY=VALUE line",
                         data);
        return l.error;
}

struct dropin_load {
        struct config *config;
        conf_complain_fn complain;
        void *data;
};

static int load_dropin(int dirfd, const char *path, void *data)
{
        struct dropin_load *l = data;

        return load_file(dirfd, path, l->config, l->complain, l->data);
}

int conf_load(const struct roots *r, struct config *ret, conf_complain_fn complain, void *data)
{
        struct config c;
        int k;

        config_init(&c);
        k = load_file(r->lib, CONF_FILE, &c, complain, data);
        if (k >= 0)
                k = load_file(r->etc, CONF_FILE, &c, complain, data);
        if (k >= 0)
                k = dropins_each(r, CONF_DIR, load_dropin, &(struct dropin_load){ &c, complain, data });
        if (k == -ENOMEM) {
                config_done(&c);
                return k;
        }
        *ret = c;
        return 0;
}

bool in_initramfs(const struct roots *r)
{
        return faccessat(r->etc, "initrd-release", F_OK, 0) == 0 || faccessat(r->etc, INITRAMFS_MARK, F_OK, 0) == 0;
}

bool cmdline_has(const struct roots *r, const char *word)
{
        char text[4096], *save = NULL;
        bool initrd = in_initramfs(r);

        if (attr_read(r->proc, "cmdline", text, sizeof(text)) < 0)
                return false;
        for (char *w = strtok_r(text, " \n", &save); w; w = strtok_r(NULL, " \n", &save))
                if (streq(w, word) || (initrd && strncmp(w, "rd.", 3) == 0 && streq(w + 3, word)))
                        return true;
        return false;
}

/* What udev rules and the hwdb said of the USB device. */
static void ask_udev(const struct roots *r, struct facts *f)
{
        char id[UDEVDB_ID_MAX], value[32], platform[PLATFORM_MAX];
        struct db_entry entry;
        int v;

        if (!udevdb_usb_id(r, f->port, id))
                return;
        if (udevdb_property(r, id, PROP_POLICY, value, sizeof(value)) > 0 && (v = policy_from_string(value)) >= 0) {
                f->policy = (enum policy) v;
                f->policy_source = POLICY_BY_UDEV;
        }
        if (bridgedb_read(r, f->port, &entry) > 0) {
                platform_read(r, platform);
                f->verdict = db_verdict(&entry, f->bcd, platform);
        }
}

void facts_complete(const struct roots *r, const struct config *c, struct facts *f)
{
        struct attachment_mark a = { .override_target = DRIVER_NONE };

        if (attr_read(r->sys, SYSFS_QUIRKS, f->quirks, sizeof(f->quirks)) < 0)
                f->quirks[0] = '\0';
        keepoff_own(r, f->vid, f->pid, f->quirks_own);
        f->unknown_target = c->unknown_target;

        f->just_unbound = f->driver == DRIVER_NONE && switch_at_work(r, f->interface);

        /* The nearer word wins: kept policy, then udev, then the configuration. */
        f->policy = config_policy(c, f->vid, f->pid, f->serial);
        f->policy_source = f->policy != POLICY_AUTO ? POLICY_BY_CONFIG : POLICY_BY_NOBODY;
        f->policy_forced = false;
        f->verdict = VERDICT_UNKNOWN;
        ask_udev(r, f);
        if (policy_lookup(r, f, &f->policy, &f->policy_forced) > 0)
                f->policy_source = POLICY_BY_USER;

        past_judge(r, f);
        (void) attachment_read(r, f, &a);
        f->override_target = a.override_target;
        f->override_forced = a.override_forced;
}
