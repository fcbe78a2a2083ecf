/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/smart.h"

#include "common/sentence.h"
#include "common/util.h"

#define TYPE_KEY "USB Type"
#define UNSUPPORTED "[unsupported]"
#define NOT_THERE "No presets are defined"

/* An argument of -d, such as "sat,12" and "sntjmicron". It is passed to smartctl and printed. */
static bool is_type(const char *s)
{
        return *s >= 'a' && s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789,+/")] == '\0';
}

enum smart_lookup smart_type_parse(const char *text, char ret[static SMART_TYPE_MAX])
{
        for (const char *line = text; *line; line = next_line(line)) {
                char type[SMART_TYPE_MAX];
                size_t n;

                if (startswith(line, NOT_THERE))
                        return SMART_ABSENT;
                if (!startswith(line, TYPE_KEY))
                        continue;
                line += strlen(TYPE_KEY);
                line += strspn(line, ": \t");
                n = strcspn(line, " \t\r\n");
                if (n >= sizeof(type))
                        return SMART_UNREADABLE;
                memcpy(type, line, n);
                type[n] = '\0';
                if (streq(type, UNSUPPORTED))
                        return SMART_UNSUPPORTED;
                if (!is_type(type))
                        return SMART_UNREADABLE;
                (void) copy_string(ret, SMART_TYPE_MAX, type);
                return SMART_FOUND;
        }
        return SMART_UNREADABLE;
}

bool smart_ata_blocked(const struct facts *f, enum driver d)
{
        char letters[QUIRK_ENTRY_MAX];
        struct bridge b;

        if (quirks_find(f->quirks, f->vid, f->pid, letters) >
            0) /* it replaces the kernel's own flags */
                return strchr(letters, 't');
        facts_bridge(f, &b);
        return kernel_letters(&b, d) & LETTER('t');
}

char *smart_explain(const struct facts *f, char *ret, size_t size)
{
        struct facts bare = *f;
        char entry[QUIRK_ENTRY_MAX];
        bool blocked;

        bare.quirks[0] = '\0';
        ret[0] = '\0';
        if (f->driver != DRIVER_UAS)
                return ret;
        blocked = smart_ata_blocked(f, DRIVER_UAS);
        if (blocked && !smart_ata_blocked(f, DRIVER_USB_STORAGE) && f->caps.bot)
                (void) sentence(
                        ret, size,
                        "The kernel blocks ATA commands under uas for this bridge (flag t), so SMART cannot be read. usb-storage allows them: uasctl switch DISK usb-storage");
        else if (blocked)
                (void) sentence(
                        ret, size,
                        "The kernel blocks ATA commands for this bridge (flag t), so SMART cannot be read.");
        else if (smart_ata_blocked(&bare, DRIVER_UAS) &&
                 quirks_entry_of(f->quirks, f->vid, f->pid, entry) > 0)
                (void) sentence(
                        ret, size,
                        "The entry %s replaces the kernel's flag t: ATA commands reach the disk under uas.",
                        entry);
        return ret;
}

const char *smart_why_not(const struct smart_case *c)
{
        static const char *const lookups[_SMART_LOOKUP_MAX] = {
                [SMART_ABSENT] = "smartctl's database does not have its bridge",
                [SMART_UNSUPPORTED] =
                        "smartctl's database has its bridge as one that does not work",
                [SMART_UNREADABLE] = "smartctl's answer does not name the type of its bridge",
                [SMART_LATE] = "smartctl's answer about its bridge did not come in time",
        };

        if (c->leased)
                return "it is leased, and its holder may be measuring it";
        if (c->switching || c->state == STATE_SWITCHING)
                return "it is being switched";
        if (c->state != STATE_SETTLED && c->state != STATE_INCAPABLE)
                return "it is not settled";
        if (c->distrusted)
                return "it is distrusted";
        if (c->on_trial)
                return "it is on trial";
        if (c->verdict == VERDICT_BAD)
                return "its bridge is known to be bad under uas";
        if (c->timeouts)
                return "commands to it have timed out";
        if (c->blocked)
                return "the kernel blocks ATA commands to it under uas (flag t), and allows them under usb-storage";
        if (lookups[c->lookup])
                return lookups[c->lookup];
        if (!c->root)
                return "only root may ask it";
        return NULL;
}
