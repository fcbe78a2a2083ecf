/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/property.h"

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

#define AT(field) offsetof(struct view, field), sizeof(((struct view *) NULL)->field)
#define FACT(field) AT(disk.facts.field)
#define NULLABLE PROPERTY_NULLABLE
#define FOREIGN (PROPERTY_FOREIGN | PROPERTY_CONST)

const struct disk_property disk_properties[] = {
        /* clang-format off */
        {"Id", "id", PROPERTY_TEXT, PROPERTY_CONST, FACT(interface)},
        {"Interface", "interface", PROPERTY_TEXT, PROPERTY_CONST, FACT(interface)},
        {"VendorId", "vendor_id", PROPERTY_HEX, PROPERTY_CONST, FACT(vid)},
        {"ProductId", "product_id", PROPERTY_HEX, PROPERTY_CONST, FACT(pid)},
        {"Revision", "revision", PROPERTY_HEX, PROPERTY_CONST, FACT(bcd)},
        {"Manufacturer", "manufacturer", PROPERTY_TEXT, FOREIGN, FACT(manufacturer)},
        {"Product", "product", PROPERTY_TEXT, FOREIGN, FACT(product)},
        {"Serial", "serial", PROPERTY_TEXT, FOREIGN, FACT(serial)},
        {"SpeedMbps", "speed_mbps", PROPERTY_NUMBER, PROPERTY_CONST, FACT(speed_mbps)},
        {"MaxSpeedMbps", "max_speed_mbps", PROPERTY_NUMBER, PROPERTY_CONST | NULLABLE, FACT(max_speed_mbps)},
        {"UsbVersion", "usb_version", PROPERTY_TEXT, FOREIGN, FACT(usb_version)},
        {"Driver", "driver", PROPERTY_TEXT, NULLABLE, FACT(driver_name)},
        {"Capable", "capable", PROPERTY_CAPABLE, PROPERTY_CONST},
        {"Policy", "policy", PROPERTY_TEXT, 0, 0, 0, say_policy},
        {"Target", "target", PROPERTY_TEXT, NULLABLE, 0, 0, say_target},
        {"State", "state", PROPERTY_TEXT, 0, 0, 0, say_state},
        {"Reason", "reason", PROPERTY_TEXT, PROPERTY_INVALIDATES, AT(reason), disk_reason},
        {"ReasonId", "reason_id", PROPERTY_TEXT, 0, AT(reason_id), say_reason_id},
        {"Verdict", "verdict", PROPERTY_TEXT, 0, 0, 0, say_verdict},
        {"History", "history", PROPERTY_TEXT, NULLABLE, AT(history), disk_history},
        {"Diagnosis", "diagnosis", PROPERTY_TEXT, NULLABLE, AT(diagnosis), disk_diagnosis},
        {"Host", "host", PROPERTY_TEXT, NULLABLE, AT(disk.host)},
        {"Lease", "lease", PROPERTY_TEXT, NULLABLE, AT(disk.lease)},
        {"Disks", "disks", PROPERTY_LUNS},
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

void view_describe(struct view *v)
{
        for (const struct disk_property *p = disk_properties;
             p < disk_properties + n_disk_properties; p++) {
                char *at = (char *) v + p->offset;
                const char *text = at;

                if (p->say && p->size > 0)
                        text = p->say(&v->disk, at, p->size);
                if (text != at)
                        (void) copy_string(at, p->size, text);
        }
}
