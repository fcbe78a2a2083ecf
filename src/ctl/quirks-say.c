/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/quirks-say.h"
/* Sentences about quirks entries: those that the kernel ignores, and the cost of one. */
#include "ctl/boot.h"
#include "ctl/context.h"
#include "ctl/health.h"
#include "ctl/output.h"
#include "ctl/schema.h"

/* "152d:0578, by the kernel command line: ignored: ..." */
static char *slip_text(const struct quirk_slip *s, char *ret, size_t size)
{
        const struct quirk_word word = {.source = s->line->source, .line = s->line};
        char text[4 * QUIRKS_MAX + 1], who[400], why[200];

        (void) snprintf(ret, size, _("%s, by %s: %s"), make_harmless(s->text, text, sizeof(text)),
                        quirk_word_who(&word, who, sizeof(who)),
                        quirk_slip_why(s, why, sizeof(why)));
        return ret;
}

size_t quirk_slips_for(const struct quirk_lines *l, const struct facts *f,
                       struct quirk_slip ret[static QUIRK_SLIPS_MAX])
{
        size_t n = 0, found = quirk_slips(l, ret, QUIRK_SLIPS_MAX);

        for (size_t i = 0; i < found; i++)
                if (!f || quirk_slip_is_for(ret + i, f->vid, f->pid))
                        ret[n++] = ret[i];
        return n;
}

void quirk_slips_say(const struct quirk_lines *l)
{
        struct quirk_slip slips[QUIRK_SLIPS_MAX];
        size_t n = quirk_slips_for(l, NULL, slips);

        for (size_t i = 0; i < n; i++) {
                char text[1500], remedy[400];

                (void) quirk_slip_remedy(slips + i, remedy, sizeof(remedy));
                log_warning("%s. %s", slip_text(slips + i, text, sizeof(text)), remedy);
        }
}

void quirk_slips_print(const struct quirk_slip *slips, size_t n, bool first)
{
        for (size_t i = 0; i < n; i++) {
                char text[1500], remedy[400];

                if (first)
                        putchar('\n');
                output_sentence(first ? "Quirks" : "", slip_text(slips + i, text, sizeof(text)));
                output_sentence("", quirk_slip_remedy(slips + i, remedy, sizeof(remedy)));
                first = false;
        }
}

/* ---- TRIM ---- */

char *trim_lost(const struct ctl *c, const struct view *v, enum driver target, char *ret,
                size_t size)
{
        _cleanup_(health_done) struct health h = {};
        const struct facts *f = &v->disk.facts;

        ret[0] = '\0';
        if (f->driver != DRIVER_UAS || target != DRIVER_USB_STORAGE)
                return ret;
        health_read(&c->client.roots, v, &h);
        for (size_t i = 0; i < h.n_luns && !*ret; i++) {
                const struct trim_facts *t = &h.luns[i].trim;

                if (!trim_ends(t))
                        continue;
                if (t->offer == TRIM_OFFER_YES)
                        (void) snprintf(
                                ret, size,
                                _("Under usb-storage the kernel sends no TRIM by itself. To keep TRIM: uasctl trim %s on"),
                                facts_name(f));
                else if (t->offer == TRIM_OFFER_UNKNOWN)
                        (void) snprintf(
                                ret, size,
                                _("Under usb-storage the kernel sends no TRIM by itself. To keep TRIM: uasctl --force trim %s on"),
                                facts_name(f));
                else
                        (void) copy_string(
                                ret, size,
                                _("Under usb-storage the kernel sends no TRIM by itself."));
        }
        return ret;
}

void say_trim_is_lost(const struct ctl *c, const struct view *v, enum driver target)
{
        char text[TRIM_LOST_MAX];

        if (*trim_lost(c, v, target, text, sizeof(text)))
                log_info("%s", text);
}
