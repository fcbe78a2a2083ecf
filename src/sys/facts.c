/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/facts.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/quirks/keepoff.h"
#include "sys/quirks/param.h"
#include "sys/state/attachment.h"
#include "sys/state/history.h"
#include "sys/state/settings.h"
#include "sys/state/switch-record.h"
#include "sys/udev/udevdb.h"

void facts_judge(const struct roots *roots, struct facts *f)
{
        struct db_entry entry;

        f->verdict = VERDICT_UNKNOWN;
        f->verdict_by_past = f->verdict_disputed = false;
        if (bridgedb_read(roots, f, &entry) > 0) {
                char platform[PLATFORM_MAX];
                struct db_word word;

                platform_read(roots, platform);
                db_weigh(&entry, f->bcd, platform, &word);
                f->verdict = word.verdict;
                f->verdict_disputed = word.conflict;
        }
        history_recall(roots, f);
}

/* A kept policy goes before that of udev's rules, and that before the configuration. */
static void facts_read_policy(const struct roots *roots, const struct config *c, struct facts *f)
{
        char id[UDEVDB_ID_MAX], value[32];
        int v;

        f->policy = config_policy(c, f->vid, f->pid, f->serial);
        f->policy_source = POLICY_BY_NOBODY;
        if (f->policy != POLICY_AUTO)
                f->policy_source = POLICY_BY_CONFIG;
        f->policy_forced = false;
        if (udevdb_usb_id(roots, f->port, id) &&
            udevdb_property(roots, id, PROP_POLICY, value, sizeof(value)) > 0 &&
            (v = policy_from_string(value)) >= 0) {
                f->policy = (enum policy) v;
                f->policy_source = POLICY_BY_UDEV;
        }
        if (policy_lookup(roots, f, &f->policy, &f->policy_forced) > 0)
                f->policy_source = POLICY_BY_USER;
}

/*
 * Reads the quirks parameter without the entry that uasd-switch adds for a bind. It names this
 * disk, or a like one, and is no statement about either.
 */
static void facts_read_quirks(const struct roots *roots, struct facts *f)
{
        char letters[QUIRK_ENTRY_MAX], bind[QUIRK_ENTRY_MAX];

        /* The entry goes before its record. Between the two reads both may have gone: then the
         * second round reads neither. */
        for (int round = 0; round < 2; round++) {
                if (quirks_param_read(roots, f->quirks) < 0)
                        f->quirks[0] = '\0';
                if (quirks_find(f->quirks, f->vid, f->pid, letters) <= 0)
                        return;
                if (quirks_bind_read(roots, bind) > 0) {
                        (void) quirks_remove(f->quirks, bind, f->quirks);
                        return;
                }
        }
}

/* The mark's text is "CAUSE WHAT". */
static void facts_read_trouble(const char *text, struct facts *f)
{
        const char *what = strchr(text, ' ');
        char word[16];
        int cause;

        f->trouble = NULL;
        f->trouble_cause = BLAME_NONE;
        if (what)
                f->trouble = sign_what(what + 1);
        if (!f->trouble)
                return;
        (void) copy_part(word, sizeof(word), text, (size_t) (what - text));
        cause = blame_from_string(word);
        if (cause > 0)
                f->trouble_cause = (enum blame) cause;
}

void facts_take_mark(struct facts *f, const struct attachment_mark *a)
{
        f->override_target = a->override_target;
        f->override_forced = a->override_forced;
        facts_read_trouble(a->trouble, f);
}

void facts_recall_attachment(const struct roots *roots, struct facts *f)
{
        struct attachment_mark a = {};

        (void) attachment_read(roots, f, &a);
        facts_take_mark(f, &a);
}

void facts_complete(const struct roots *roots, const struct config *c, struct facts *f)
{
        f->kernel = linux_version(roots->kernel);
        facts_read_quirks(roots, f);
        keepoff_own(roots, f->vid, f->pid, f->quirks_own);
        f->unknown_target = c->unknown_target;
        f->just_unbound = f->driver == DRIVER_NONE && switch_at_work(roots, f->interface);
        facts_read_policy(roots, c, f);
        facts_judge(roots, f);
        facts_recall_attachment(roots, f);
}
