/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/property.h"

#include <errno.h>

#include "common/util.h"
#include "core/disk-words.h"

#define SAY(property, text)                                                                        \
        static const char *say_##property(const struct disk *d, char *ret, size_t size)            \
        {                                                                                          \
                return text;                                                                       \
        }
SAY(policy, policy_to_string(d->facts.policy))
SAY(target, driver_or_empty(d->decision.target))
SAY(state, state_to_string(d->state))
SAY(reason_id, disk_reason_id(d))
SAY(verdict, verdict_to_string(d->facts.verdict))

/* "": it stays on its driver */
static int target_from_string(const char *s)
{
        return isempty(s) ? (int) DRIVER_NONE : driver_from_string(s);
}

#define AT(field) offsetof(struct view, field), sizeof(((struct view *) NULL)->field)
#define FACT(field) AT(disk.facts.field)
#define BRIEF PROPERTY_BRIEF
#define NULLABLE PROPERTY_NULLABLE
#define FOREIGN (PROPERTY_FOREIGN | PROPERTY_CONST)

const struct disk_property disk_properties[] = {
        /* clang-format off */
        {"Id", "id", PROPERTY_TEXT, PROPERTY_CONST | BRIEF, FACT(interface)},
        {"Interface", "interface", PROPERTY_TEXT, PROPERTY_CONST, FACT(interface)},
        {"VendorId", "vendor_id", PROPERTY_HEX, PROPERTY_CONST, FACT(vid)},
        {"ProductId", "product_id", PROPERTY_HEX, PROPERTY_CONST, FACT(pid)},
        {"Revision", "revision", PROPERTY_HEX, PROPERTY_CONST, FACT(bcd)},
        {"Manufacturer", "manufacturer", PROPERTY_TEXT, FOREIGN | BRIEF, FACT(manufacturer)},
        {"Product", "product", PROPERTY_TEXT, FOREIGN | BRIEF, FACT(product)},
        {"Serial", "serial", PROPERTY_TEXT, FOREIGN, FACT(serial)},
        {"SpeedMbps", "speed_mbps", PROPERTY_NUMBER, PROPERTY_CONST | BRIEF, FACT(speed_mbps)},
        {"MaxSpeedMbps", "max_speed_mbps", PROPERTY_NUMBER, PROPERTY_CONST | BRIEF | NULLABLE, FACT(max_speed_mbps)},
        {"UsbVersion", "usb_version", PROPERTY_TEXT, FOREIGN, FACT(usb_version)},
        {"Driver", "driver", PROPERTY_TEXT, BRIEF | NULLABLE, FACT(driver_name)},
        {"Capable", "capable", PROPERTY_CAPABLE, PROPERTY_CONST},
        {"Policy", "policy", PROPERTY_TEXT, 0, FACT(policy), say_policy, policy_from_string},
        {"Target", "target", PROPERTY_TEXT, BRIEF | NULLABLE, AT(disk.decision.target), say_target, target_from_string},
        {"State", "state", PROPERTY_TEXT, BRIEF, AT(disk.state), say_state, state_from_string},
        {"Reason", "reason", PROPERTY_TEXT, PROPERTY_INVALIDATES, AT(reason), disk_reason},
        {"ReasonId", "reason_id", PROPERTY_TEXT, BRIEF, AT(reason_id), say_reason_id},
        {"Verdict", "verdict", PROPERTY_TEXT, BRIEF, FACT(verdict), say_verdict, verdict_from_string},
        {"History", "history", PROPERTY_TEXT, NULLABLE, AT(history), disk_history},
        {"Diagnosis", "diagnosis", PROPERTY_TEXT, BRIEF | NULLABLE, AT(diagnosis), disk_diagnosis},
        {"Host", "host", PROPERTY_TEXT, NULLABLE, AT(disk.host)},
        {"Lease", "lease", PROPERTY_TEXT, NULLABLE, AT(disk.lease)},
        {"Disks", "disks", PROPERTY_LUNS, BRIEF},
        {"Busy", "busy", PROPERTY_USERS, PROPERTY_SILENT},
        {"Outcome", "outcome", PROPERTY_OUTCOME},
        /* clang-format on */
};
const size_t n_disk_properties = ELEMENTSOF(disk_properties);

const char *const property_types[_PROPERTY_KIND_MAX] = {
        [PROPERTY_TEXT] = "s",        [PROPERTY_HEX] = "q",       [PROPERTY_NUMBER] = "u",
        [PROPERTY_CAPABLE] = "b",     [PROPERTY_LUNS] = "a(sut)", [PROPERTY_USERS] = "a(sssssus)",
        [PROPERTY_OUTCOME] = "(iss)",
};

const struct disk_property *disk_property_find(const char *name)
{
        for (size_t i = 0; i < n_disk_properties; i++)
                if (streq(disk_properties[i].name, name))
                        return &disk_properties[i];
        return NULL;
}

int disk_property_take(const struct disk_property *p, struct view *v, const char *text)
{
        char *at = (char *) v + p->offset;
        int word;

        if (!p->from_string) {
                (void) copy_string(at, p->size, text);
                return 0;
        }
        word = p->from_string(text);
        if (word < 0)
                return -EINVAL;
        memcpy(at, &word, p->size);
        return 0;
}

void view_describe(struct view *v)
{
        for (const struct disk_property *p = disk_properties;
             p < disk_properties + n_disk_properties; p++) {
                char *at = (char *) v + p->offset;
                const char *text = at;

                if (p->say && !p->from_string)
                        text = p->say(&v->disk, at, p->size);
                if (text != at)
                        (void) copy_string(at, p->size, text);
        }
}
