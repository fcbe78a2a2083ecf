/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/health.h"

#include <limits.h>

#include "common/names.h"
#include "ctl/capture.h"
#include "ctl/output.h"
#include "sys/io/sysfs.h"
#include "sys/platform/udevd.h"
#include "sys/state/attachment.h"
#include "sys/state/settings.h"
#include "sys/state/switch-record.h"
#include "sys/state/trims.h"
#include "sys/usb/link.h"
#include "sys/usb/usbdisk.h"
#include "term/json.h"
#include "term/terminal.h"

/* ---- SMART ---- */

/* the program only reads a file, but from a slow or busy disk perhaps */
#define LOOKUP_USEC (5 * USEC_PER_SEC)
#define ASK_USEC (5 * USEC_PER_SEC) /* the disk may hang: the command timeout is 30 s */

/* The value at a path like "/temperature/current"; NULL: none. */
static json_object *smart_find(json_object *o, const char *path)
{
        if (json_pointer_get(o, path, &o) < 0)
                return NULL;
        return o;
}

static bool smart_sleeps(json_object *o)
{
        json_object *messages = smart_find(o, "/smartctl/messages");

        for (size_t i = 0; json_object_is_type(messages, json_type_array) &&
                           i < json_object_array_length(messages);
             i++) {
                const char *text = json_object_get_string(
                        smart_find(json_object_array_get_idx(messages, i), "/string"));

                if (text && (strstr(text, "STANDBY") || strstr(text, "SLEEP")))
                        return true;
        }
        return false;
}

void smart_parse(const char *json, struct smart *ret)
{
        json_object *o = json_tokener_parse(json), *passed = smart_find(o, "/smart_status/passed"),
                    *temperature = smart_find(o, "/temperature/current");

        ret->passed = -1;
        if (json_object_is_type(passed, json_type_boolean))
                ret->passed = json_object_get_boolean(passed);
        ret->temperature = INT_MIN;
        if (json_object_is_type(temperature, json_type_int))
                ret->temperature = json_object_get_int(temperature);
        if (ret->temperature < -273 || ret->temperature >= 1000)
                ret->temperature = INT_MIN;
        if (ret->passed >= 0 || ret->temperature != INT_MIN)
                ret->why_not = NULL;
        else if (smart_sleeps(o))
                ret->why_not = N_("it sleeps, and uasctl does not wake it");
        else
                ret->why_not = N_("it gave no answer");
        json_object_put(o);
}

static enum smart_lookup find_type(const char *program, const struct facts *f,
                                   char ret[static SMART_TYPE_MAX])
{
        _cleanup_free_ char *text = NULL;
        char id[16], firmware[8];
        int r;

        (void) snprintf(id, sizeof(id), "0x%04x:0x%04x", f->vid, f->pid);
        (void) snprintf(firmware, sizeof(firmware), "0x%04x", f->bcd);
        /* The exit status is the number of matching entries. */
        r = capture((const char *const[]){program, "-P", "showall", id, firmware, NULL},
                    LOOKUP_USEC, &text);
        ret[0] = '\0';
        if (r == -ETIMEDOUT)
                return SMART_LATE;
        if (r < 0)
                return SMART_UNREADABLE;
        return smart_type_parse(text, ret);
}

static void smartctl_ask(const char *program, const char *block, struct smart *s)
{
        _cleanup_free_ char *text = NULL;
        const char *node = path_join("/dev/", block);
        int r;

        /* -n does not wake a disk in standby. The exit status describes the disk, so only the
         * output counts. */
        s->asked = true;
        r = capture((const char *const[]){program, "--json=c", "-n", "standby", "-H", "-A", "-d",
                                          s->type, node, NULL},
                    ASK_USEC, &text);
        if (r == -ETIMEDOUT)
                s->why_not = N_("it did not answer in time");
        else if (r < 0)
                s->why_not = N_("smartctl failed");
        else
                smart_parse(text, s);
}

/* Checks for a switch or a lease that began after the daemon answered. /run has their records.
 * Without a daemon it is the only source. */
static void look_for_others(const struct roots *roots, const char *interface, struct smart_case *c)
{
        _cleanup_(usb_disk_done) struct usb_disk u = {};
        struct attachment_mark a = {};

        c->switching = switch_at_work(roots, interface);
        if (!c->leased)
                c->leased = usb_disk_read(roots, interface, false, &u) > 0 &&
                            attachment_read(roots, &u.facts, &a) > 0 && a.lease != DRIVER_NONE;
}

/* root: the folder of the machine, or NULL. block: of the disk v. timeouts: a command has timed
 * out. */
static void smart_ask(const struct roots *roots, const char *root, const struct view *v,
                      const char *block, bool timeouts, struct smart *ret)
{
        const char *program = path_join(root ?: "", PROGRAM_SMARTCTL);
        char interface[INTERFACE_NAME_MAX];
        const struct disk *d = &v->disk;
        struct smart_case c;
        enum smart_lookup lookup;

        *ret = (struct smart){.told = true, .passed = -1, .temperature = INT_MIN};
        if (access(program, X_OK) < 0) {
                ret->missing = true;
                ret->why_not = N_("smartctl is not installed (smartmontools)");
                return;
        }
        lookup = find_type(program, &d->facts, ret->type);
        c = (struct smart_case){.state = d->state,
                                .verdict = d->facts.verdict,
                                .distrusted = d->facts.distrusted,
                                .on_trial = d->facts.trial_open,
                                .timeouts = timeouts,
                                .lookup = lookup,
                                .root = geteuid() == 0,
                                .leased = d->lease[0],
                                /* Types for NVMe send other commands. */
                                .blocked = (!ret->type[0] || startswith(ret->type, "sat")) &&
                                           smart_ata_blocked(&d->facts, d->facts.driver) &&
                                           !smart_ata_blocked(&d->facts, DRIVER_USB_STORAGE)};
        look_for_others(roots, d->facts.interface, &c);
        ret->why_not = smart_why_not(&c);
        /* Another disk may have the name now. */
        if (!ret->why_not && (usb_disk_of_block(roots, block, interface) < 0 ||
                              !streq(interface, d->facts.interface)))
                ret->why_not = N_("it has gone");
        if (!ret->why_not)
                smartctl_ask(program, block, ret);
}

/* "passed, 34 °C (smartctl -d sat /dev/sdb)". Returns ret. */
static char *smart_sentence(const struct smart *s, const char *block, char *ret, size_t size)
{
        char answer[256] = "";

        if (s->missing) {
                (void) snprintf(ret, size, _("not asked: %s"), _(s->why_not));
                return ret;
        }
        if (s->why_not)
                text_add(answer, sizeof(answer), _("not known: %s"), _(s->why_not));
        else if (s->passed >= 0)
                text_add(answer, sizeof(answer), "%s",
                         s->passed ? _("passed") : _("FAILED: back up its data now"));
        if (!s->why_not && s->temperature != INT_MIN)
                text_join(answer, sizeof(answer), "%i %s", s->temperature,
                          style_utf8() ? "°C" : "C");
        if (s->type[0])
                (void) snprintf(ret, size, "%s (smartctl -d %s /dev/%s)", answer, s->type, block);
        else
                (void) snprintf(ret, size, _("%s (most bridges know: smartctl -d sat /dev/%s)"),
                                answer, block);
        return ret;
}

/* ---- all of a disk ---- */

/* The alternate setting in use. The kernel has its numbers in hexadecimal. */
static void read_protocol(const struct roots *roots, const char *interface, char *ret, size_t size)
{
        static const char *const names[] = {"bInterfaceClass", "bInterfaceSubClass",
                                            "bInterfaceProtocol", "bNumEndpoints"};
        uint64_t values[ELEMENTSOF(names)];

        ret[0] = '\0';
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (attr_read_uint(roots->sys,
                                   path_join(SYSFS_USB_DEVICES "/", interface, "/", names[i]), 16,
                                   &values[i]) < 0)
                        return;
        (void) snprintf(
                ret, size,
                ngettext("%02x:%02x:%02x, %u endpoint", "%02x:%02x:%02x, %u endpoints", values[3]),
                (unsigned) values[0], (unsigned) values[1], (unsigned) values[2],
                (unsigned) values[3]);
}

void health_read(const struct roots *roots, const struct view *v, struct health *ret)
{
        struct health h = {.luns = need(calloc(v->disk.n_luns + 1, sizeof(*h.luns)))};
        _cleanup_(usb_disk_done) struct usb_disk u = {};
        const struct facts *f = &v->disk.facts;

        /* Stored settings may be known by port and controller, which the daemon does not report. */
        if (settings_any(roots, STATE_TRIM) > 0 && usb_disk_read(roots, f->interface, true, &u) > 0)
                f = &u.facts;
        link_read(roots, &v->disk.facts, &h.link);
        read_protocol(roots, v->disk.facts.interface, h.protocol, sizeof(h.protocol));
        for (size_t i = 0; i < v->disk.n_luns; i++) {
                struct lun_health *l = h.luns + h.n_luns;
                uint64_t max;
                int kept;

                if (!v->disk.luns[i].disk.name[0])
                        continue;
                l->lun = v->disk.luns + i;
                scsi_counts_read(roots, l->lun->disk.name, &l->counts);
                trim_read(roots, l->lun->disk.name, &l->trim);
                l->trim.choice = view_capable(v);
                l->trim.no_udevd = !udevd_runs(roots);
                kept = trims_lookup(roots, f, l->lun->lun, l->lun->disk.name, &max);
                l->trim.kept = TRIM_NOT_KEPT;
                if (kept >= 0)
                        l->trim.kept = (enum trim_kept) kept;
                h.n_luns++;
        }
        *ret = h;
}

void health_ask(const struct roots *roots, const char *root, const struct view *v, struct health *h)
{
        for (size_t i = 0; i < h->n_luns; i++) {
                struct lun_health *l = h->luns + i;

                /* A LUN without a mode of sd is an empty slot of a card reader or a CD-ROM. After a
                 * LUN that hangs, the next LUN is not asked. */
                if (l->trim.mode[0] &&
                    (i == 0 || !h->luns[i - 1].smart.told || !h->luns[i - 1].smart.why_not))
                        smart_ask(roots, root, v, l->lun->disk.name,
                                  l->counts.value[SCSI_COUNT_TIMEOUTS] > 0, &l->smart);
        }
}

void health_done(struct health *h)
{
        free(h->luns);
        *h = (struct health){};
}

/* "4660 since the driver took it; 5 failed, 3 timed out" */
static void print_counts(const char *key, const char *name, const struct scsi_counts *c)
{
        unsigned long long requests = c->value[SCSI_COUNT_REQUESTS],
                           errors = c->value[SCSI_COUNT_ERRORS],
                           timeouts = c->value[SCSI_COUNT_TIMEOUTS];

        if (!c->known[SCSI_COUNT_ERRORS])
                output_format(key, "", _("%s: %llu since the driver took it"), name, requests);
        else if (!c->known[SCSI_COUNT_TIMEOUTS]) /* of older kernels */
                output_format(key, "", _("%s: %llu since the driver took it; %llu failed"), name,
                              requests, errors);
        else
                output_format(key, "",
                              _("%s: %llu since the driver took it; %llu failed, %llu timed out"),
                              name, requests, errors, timeouts);
}

/* "sda: 4660 since the driver took it; 5 failed, 3 timed out" */
void health_print_commands(const struct health *h)
{
        for (size_t i = 0; i < h->n_luns; i++) {
                const char *key = i == 0 ? N_("Commands") : "", *name = h->luns[i].lun->disk.name;
                const struct scsi_counts *c = &h->luns[i].counts;

                /* Questions of smartctl raise the other counters: bridges answer ATA commands with
                 * CHECK CONDITION. No disk is asked after a timeout. */
                if (!h->luns[i].smart.asked && c->known[SCSI_COUNT_REQUESTS])
                        print_counts(key, name, c);
                else if (h->luns[i].smart.asked && c->known[SCSI_COUNT_TIMEOUTS])
                        output_format(key, "", _("%s: none has timed out"), name);
        }
}

bool health_print_trim(const struct health *h, const struct view *v, bool among_others)
{
        bool first = true;

        for (size_t i = 0; i < h->n_luns; i++) {
                const struct lun_health *l = h->luns + i;
                char sentence[256], named[512], text[600];

                if (!l->trim.mode[0] && l->trim.used_bytes == 0)
                        continue;
                (void) output_named(
                        trim_sentence(&l->trim, v->disk.facts.driver, sentence, sizeof(sentence)),
                        facts_name(&v->disk.facts), named, sizeof(named));
                (void) snprintf(text, sizeof(text), "%s: %s.", l->lun->disk.name, named);
                if (among_others)
                        output_sentence(first ? "TRIM" : "", text);
                else
                        output_line(0, text);
                first = false;
        }
        return !first;
}

void health_print(const struct health *h)
{
        for (const struct lun_health *l = h->luns; l < h->luns + h->n_luns; l++) {
                char sentence[512], text[600];

                if (!l->smart.told)
                        continue;
                (void) snprintf(
                        text, sizeof(text), "%s: %s", l->lun->disk.name,
                        smart_sentence(&l->smart, l->lun->disk.name, sentence, sizeof(sentence)));
                output_sentence("Health", text);
        }
}
