/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/history.h"

#include <ctype.h>

#include "common/sentence.h"
#include "common/util.h"

static const char *const history_state_names[_HISTORY_MAX] = {
        [HISTORY_TRIAL] = "trial",           [HISTORY_PASSED] = "passed",
        [HISTORY_DISTRUSTED] = "distrusted", [HISTORY_CLEARED] = "cleared",
        [HISTORY_ENDED] = "ended",
};

DEFINE_STRINGS(history_state)

/* ---- a line ---- */

static void history_take_word(struct history *h, const char *key, const char *value, int *ret_state)
{
        unsigned long long v;

        if (streq(key, "state"))
                *ret_state = history_state_from_string(value);
        else if (streq(key, "firmware")) {
                if (parse_uint(value, 16, UINT16_MAX, &v) >= 0)
                        h->firmware = (uint16_t) v;
        } else if (streq(key, "kernel"))
                (void) copy_string(h->kernel, sizeof(h->kernel), value);
        else if (streq(key, "boot"))
                (void) copy_string(h->boot, sizeof(h->boot), value);
        else if (streq(key, "date"))
                (void) copy_string(h->date, sizeof(h->date), value);
        else if (streq(key, "lost"))
                h->lost = streq(value, "1");
        else if (streq(key, "failed"))
                h->failed = streq(value, "1");
        else if (streq(key, "distrusted"))
                h->distrusted = streq(value, "1");
}

int history_parse(const char *value, struct history *ret)
{
        struct history h = {0};
        int state = -1;

        while (*value) {
                char key[16], word[80];
                size_t equals = strcspn(value, "= "), n;

                if (value[equals] != '=' || equals == 0 || equals >= sizeof(key))
                        return -EINVAL;
                (void) copy_part(key, sizeof(key), value, equals);
                value += equals + 1;
                if (streq(key, "reason")) { /* the last word, with its spaces */
                        (void) copy_string(h.reason, sizeof(h.reason), value);
                        break;
                }
                n = strcspn(value, " ");
                if (n >= sizeof(word))
                        return -EINVAL;
                (void) copy_part(word, sizeof(word), value, n);
                history_take_word(&h, key, word, &state);
                value += n;
                value += strspn(value, " ");
        }
        if (state < 0)
                return -EINVAL;
        h.state = (enum history_state) state;
        *ret = h;
        return 0;
}

static const char *word_or_dash(const char *s)
{
        return *s ? s : "-";
}

int history_format(const struct history *h, char *ret, size_t size)
{
        char reason[sizeof(h->reason) * 4];
        int n;

        make_harmless(h->reason, reason, sizeof(h->reason));
        n = snprintf(ret, size, "state=%s firmware=%04x kernel=%s boot=%s date=%s%s%s%s reason=%s",
                     history_state_names[h->state], h->firmware, word_or_dash(h->kernel),
                     word_or_dash(h->boot), word_or_dash(h->date), h->lost ? " lost=1" : "",
                     h->failed ? " failed=1" : "", h->distrusted ? " distrusted=1" : "", reason);
        if (n < 0 || (size_t) n >= size)
                return -ENOBUFS;
        return 0;
}

bool history_matters(const struct history *h)
{
        /* If no program ends a trial, the machine went down in the middle of it. */
        return h->state == HISTORY_DISTRUSTED || h->state == HISTORY_TRIAL;
}

bool history_end_trial(struct history *h, const char *boot)
{
        if (h->state != HISTORY_TRIAL || !streq(h->boot, boot))
                return false;
        h->state = h->distrusted ? HISTORY_DISTRUSTED : HISTORY_ENDED;
        h->distrusted = false;
        return true;
}

/* ---- the key ---- */

char *history_usb_id(const struct facts *f, char *ret, size_t size)
{
        char serial[USB_STRING_MAX * 3],
                *to = ret + snprintf(ret, size, "%04x:%04x:", f->vid, f->pid);

        make_harmless(f->serial, serial, sizeof(serial));
        for (const char *s = serial; *s && (size_t) (to - ret) + 6 < size; s++)
                if (strchr("=@#", *s)) /* these end a key, or the serial in it */
                        to += snprintf(to, 5, "\\x%02x", (unsigned) *s);
                else
                        *to++ = *s;
        *to = '\0';
        return ret;
}

char *history_rule_id(const struct disk_rule *rule, char *ret, size_t size)
{
        struct facts f = {.vid = rule->vid, .pid = rule->pid};

        (void) copy_string(f.serial, sizeof(f.serial), rule->serial);
        return history_usb_id(&f, ret, size);
}

char *history_key_disk(const struct facts *f, char *ret, size_t size)
{
        size_t used = strlen(history_usb_id(f, ret, size));

        (void) copy_string(ret + used, size - used, "@");
        return ret;
}

char *history_key(const struct facts *f, char *ret, size_t size)
{
        const char *chain = strchr(f->port, '-'), *controller = f->controller_device,
                   *speed = "/hs/";
        size_t used;

        history_key_disk(f, ret, size);
        used = strlen(ret);
        /* Bus numbers depend on the order in which controllers are found; the address of a
         * controller is stable. */
        if (!*controller)
                controller = "usb";
        if (f->speed_mbps >= SUPER_SPEED_MBPS)
                speed = "/ss/";
        (void) concat(ret + used, size - used, controller, speed, chain ? chain + 1 : f->port);
        return ret;
}

bool history_id_is_of(const char *s, const struct facts *f)
{
        char usb_id[USB_ID_MAX], key[HISTORY_KEY_MAX];

        return streq(s, history_usb_id(f, usb_id, sizeof(usb_id))) ||
               streq(s, history_key(f, key, sizeof(key)));
}

bool history_id_parse(const char *s, char *ret, size_t size)
{
        size_t n = strlen(s), bridge = strlen("1234:5678:");
        char serial[HISTORY_KEY_MAX];
        const char *port;

        if (n <= bridge || n >= size || s[4] != ':' || s[9] != ':')
                return false;
        for (size_t i = 0; i < bridge - 1; i++)
                if (i != 4 && !isxdigit((unsigned char) s[i]))
                        return false;
        port = strchrnul(s + bridge, '@');
        for (const char *p = port; *p; p++)
                if (!isgraph((unsigned char) *p))
                        return false;
        if (strpbrk(s, "=#") ||
            !copy_part(serial, sizeof(serial), s + bridge, (size_t) (port - s) - bridge))
                return false;
        serial_normalize(serial);
        if (!*serial && !*port)
                return false;
        (void) snprintf(ret, size, "%.*s%s%s", (int) bridge, s, serial, port);
        for (size_t i = 0; i < bridge; i++)
                ret[i] = (char) tolower((unsigned char) ret[i]);
        return true;
}

/* ---- what a record means ---- */

static const char *word_of_record(const char *s)
{
        return streq(s, "-") ? "" : s;
}

/* The firmware is not kept: a disk with another one is not distrusted. */
static void history_describe(const struct history *h, const char *what, struct facts *f)
{
        (void) copy_part(f->distrust_date, sizeof(f->distrust_date), word_of_record(h->date),
                         strcspn(h->date, "T"));
        (void) copy_string(f->distrust_kernel, sizeof(f->distrust_kernel),
                           word_of_record(h->kernel));
        (void) copy_string(f->distrust_reason, sizeof(f->distrust_reason),
                           *what ? what : "the reason is not on record");
}

/* Writes "reset (2026-11-20, firmware 1.14, Linux 6.1.0-56-amd64)", as far as known. */
static char *describe_failure(const struct facts *f, const char *date, char *ret, size_t size)
{
        const char *why = f->distrust_reason, *kernel = f->distrust_kernel;
        unsigned major = f->bcd >> 8, minor = f->bcd & 0xff;

        if (*why && *kernel && *date)
                (void) sentence(ret, size, "%s (%s, firmware %x.%02x, Linux %s)", why, date, major,
                                minor, kernel);
        else if (*why && *kernel)
                (void) sentence(ret, size, "%s (firmware %x.%02x, Linux %s)", why, major, minor,
                                kernel);
        else if (*why && *date)
                (void) sentence(ret, size, "%s (%s)", why, date);
        else
                (void) copy_string(ret, size, why);
        return ret;
}

char *history_clause(const struct facts *f, char *ret, size_t size)
{
        return describe_failure(f, f->distrust_date, ret, size);
}

char *history_sentence(const struct facts *f, char *ret, size_t size)
{
        char failure[HISTORY_TEXT_MAX];

        ret[0] = '\0';
        if (!f->distrust_reason[0])
                return ret;
        (void) describe_failure(f, "", failure, sizeof(failure));
        if (f->distrust_date[0])
                (void) sentence(ret, size, "UAS failed on %s: %s.", f->distrust_date, failure);
        else
                (void) sentence(ret, size, "UAS failed: %s.", failure);
        return ret;
}

void history_judge(const struct history *h, const struct here *here, struct facts *f)
{
        bool same_firmware = h && h->firmware == f->bcd,
             same_kernel = h && streq(h->kernel, here->kernel),
             same_boot = h && streq(h->boot, here->boot);

        f->distrusted = f->trial_failed = f->trial_open = f->trial_ended = f->trial_passed =
                f->initramfs_old = f->cleared = false;
        f->distrust_reason[0] = f->distrust_date[0] = f->distrust_kernel[0] = '\0';
        if (f->verdict_by_past)
                f->verdict = VERDICT_UNKNOWN;
        f->verdict_by_past = false;
        if (!h)
                return;
        switch (h->state) {
        case HISTORY_TRIAL:
                f->trial_open = same_firmware && same_boot;
                if (h->distrusted && same_firmware && (h->lost || same_kernel)) {
                        f->distrusted = true;
                        history_describe(h, h->reason, f);
                }
                /* The trial was not ended: the machine crashed, was reset, or lost its power. */
                if (!same_boot && same_firmware && same_kernel) {
                        f->distrusted = f->trial_failed = true;
                        history_describe(h, "the machine went down in the middle of its trial", f);
                }
                break;
        case HISTORY_DISTRUSTED:
                f->distrusted = same_firmware && (h->lost || same_kernel);
                f->trial_failed = f->distrusted && h->failed;
                if (f->distrusted)
                        history_describe(h, h->reason, f);
                break;
        case HISTORY_CLEARED:
                f->cleared = same_firmware;
                if (f->cleared)
                        history_describe(h, h->reason, f);
                break;
        case HISTORY_PASSED:
                f->trial_passed = same_firmware && same_kernel;
                break;
        case HISTORY_ENDED:
                f->trial_ended = same_firmware && same_boot;
                break;
        case _HISTORY_MAX:
                break;
        }
        if (f->verdict != VERDICT_UNKNOWN)
                return;
        if (f->distrusted)
                f->verdict = VERDICT_BAD;
        else if (f->trial_passed)
                f->verdict = VERDICT_GOOD;
        f->verdict_by_past = f->verdict != VERDICT_UNKNOWN;
}
