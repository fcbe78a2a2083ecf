/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/explain.h"

#include "common/sentence.h"
#include "common/util.h"
#include "core/policy.h"

size_t explain(const struct facts *f, struct explain_row *rows, size_t max)
{
        bool decided = false, moot = false;
        struct policy_input in;
        struct decision d;
        size_t n;

        policy_input_read(f, &in);
        decide(f, &d);
        for (n = 0; n < max && n < ELEMENTSOF(policy_rows); n++) {
                const struct decision_row *row = policy_rows + n;
                struct explain_row *e = rows + n;
                const char *words, *advice = NULL;

                if (row->advise)
                        advice = row->advise(&in);
                *e = (struct explain_row){
                        .reason = (enum reason) n,
                        .fits = in.fits[n],
                        .means = reason_sentence_of(f, (enum reason) n),
                        .remedy = advice ?: row->remedy,
                };
                e->decides = e->fits && !decided;
                e->applies = e->fits && !moot;
                /* These two choose for a disk that no row above keeps off uas. */
                if (n >= REASON_UNKNOWN_BRIDGE && decided && d.target == DRIVER_USB_STORAGE &&
                    d.reason < REASON_UNKNOWN_BRIDGE)
                        e->applies = false;
                decided = decided || e->fits;
                /* The rows below compare two drivers, and such a disk has one. */
                moot = moot || (e->decides && row->rest == STATE_INCAPABLE);
                words = e->fits ? row->yes : row->no;
                if (words)
                        (void) copy_string(e->found, sizeof(e->found), words);
                else
                        row->found(&in, e->found, sizeof(e->found));
        }
        return n;
}

const struct explain_row *explain_deciding(const struct explain_row *rows, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (rows[i].decides)
                        return rows + i;
        return NULL;
}

const char *reason_to_string(enum reason r)
{
        return r < _REASON_MAX ? policy_rows[r].word : NULL;
}

int reason_from_string(const char *s)
{
        for (int r = 0; s && r < _REASON_MAX; r++)
                if (streq(policy_rows[r].word, s))
                        return r;
        return -EINVAL;
}

const char *reason_sentence(enum reason r)
{
        if (r >= _REASON_MAX)
                return "The reason is not known.";
        return policy_rows[r].means;
}

const char *reason_sentence_of(const struct facts *f, enum reason r)
{
        if (r == REASON_UNKNOWN_BRIDGE && f->verdict_disputed)
                return "The sources contradict each other on this bridge, so Unknown= in uasd.conf decides. uasctl db shows them.";
        return reason_sentence(r);
}

const char *why_word(enum state s, enum reason r)
{
        if (s == STATE_WAITING)
                return "in-use";
        if (s == STATE_FAILED)
                return "rolled-back";
        return policy_rows[r].brief ?: policy_rows[r].word;
}

const char *state_sentence(enum state s)
{
        static const char *const sentences[_STATE_MAX] = {
                [STATE_SETTLED] = "It is on its target, or uasd leaves it on its driver.",
                [STATE_HELD] = "Its mounts are deferred until uasd has decided.",
                [STATE_WAITING] = "uasd switches it when nothing uses it.",
                [STATE_SWITCHING] = "Being switched.",
                [STATE_TRIAL] =
                        "It is on trial on uas for TrialSec=: after an error uasd moves it back.",
                [STATE_FAILED] = "A switch since plug-in failed and was rolled back.",
                [STATE_UNBOUND] = "It has no driver.",
                [STATE_IGNORED] = "Another driver has it, or its policy is ignore.",
                [STATE_INCAPABLE] = "It does not offer UAS.",
        };

        if (s >= _STATE_MAX)
                return "The state is not known.";
        return sentences[s];
}

/* The first row for which the kernel itself keeps this disk off uas. NULL: none. */
static const struct explain_row *kernel_objects(const struct explain_row *rows, size_t n)
{
        static const enum reason objections[] = {REASON_QUIRK, REASON_KERNEL_TABLE,
                                                 REASON_KERNEL_RULE, REASON_NO_STREAMS,
                                                 REASON_NO_SG};

        for (size_t i = 0; i < n; i++)
                for (size_t o = 0; o < ELEMENTSOF(objections); o++)
                        if (rows[i].reason == objections[o] && rows[i].fits)
                                return rows + i;
        return NULL;
}

char *explain_kernel(const struct facts *f, const struct explain_row *rows, size_t n, int built,
                     char *ret, size_t size)
{
        const struct explain_row *objection = kernel_objects(rows, n);
        bool uas = f->driver == DRIVER_UAS;
        char why[400] = "";

        ret[0] = '\0';
        if (f->caps_error < 0 || !f->caps.pipes || !f->caps.bot ||
            (!uas && f->driver != DRIVER_USB_STORAGE))
                return ret;
        if (built == 0)
                (void) sentence(why, sizeof(why),
                                "its usb-storage is built without UAS support (CONFIG_USB_UAS)");
        else if (f->quirks_own[0])
                (void) sentence(why, sizeof(why), "uasd has put %s into the quirks parameter",
                                f->quirks_own);
        else if (objection)
                (void) sentence(why, sizeof(why), "%s", objection->found);
        if (*why) {
                (void) sentence(ret, size, "It chooses usb-storage: %s.", why);
                if (uas)
                        sentence_add(ret, size, " %s", "A switch has moved the disk to uas.");
        } else if (uas)
                (void) sentence(ret, size, "It chooses uas: no table, rule or quirk forbids it.");
        else if (built > 0)
                (void) sentence(ret, size,
                                "It chooses uas. A switch has moved the disk to usb-storage.");
        else
                (void) sentence(
                        ret, size,
                        "No table, rule or quirk keeps the disk off uas. Either a switch has moved it to usb-storage, or this "
                        "kernel's usb-storage is built without UAS support (CONFIG_USB_UAS).");
        return ret;
}

char *explain_unbound(const struct facts *f, int probe_error, char *ret, size_t size)
{
        struct decision d;

        ret[0] = '\0';
        decide(f, &d);
        if (f->driver != DRIVER_NONE || d.target != DRIVER_UAS || f->uas_module != UAS_MODULE_THERE)
                return ret;
        if (probe_error)
                (void) sentence(
                        ret, size,
                        "The probe of uas failed with error %d. If the USB controller has no streams, plug the disk into a port of another one, or: uasctl switch %s usb-storage",
                        probe_error, facts_name(f));
        else
                (void) sentence(
                        ret, size,
                        "uas is loaded, but the disk has no driver: the probe of uas failed, or a user has unbound the disk. The kernel's log may show the reason. Meanwhile: uasctl switch %s usb-storage",
                        facts_name(f));
        return ret;
}

char *explain_initramfs(const struct facts *f, const char *command, char *ret, size_t size)
{
        char update[160];

        ret[0] = '\0';
        if (!f->initramfs_old)
                return ret;
        (void) sentence(update, sizeof(update), command ? "Update it: %s" : "Update it.", command);
        (void) sentence(
                ret, size, "%s %s",
                "It is older than the record of this disk and may move the disk to uas at the next boot.",
                update);
        return ret;
}
