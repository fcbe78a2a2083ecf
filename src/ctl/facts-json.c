/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/facts-json.h"

#include "term/json.h"

#define ERRNO_MAX 4095 /* as the kernel has it */

enum kind { TEXT, NUMBER, HEX, BOOL, ERROR, DRIVER, POLICY, SOURCE, VERDICT, MODULE };

/* One table for writing and reading, so that what is written can be read. The fields' own names are the members'. */
static const struct field {
        const char *name;
        enum kind kind;
        size_t offset, size;
} fields[] = {
#define FIELD(kind, member) {#member, kind, offsetof(struct facts, member), sizeof(((struct facts *) NULL)->member)}
        FIELD(TEXT, interface),
        FIELD(TEXT, port),
        FIELD(NUMBER, busnum),
        FIELD(NUMBER, devnum),
        FIELD(NUMBER, interface_number),
        FIELD(NUMBER, configuration),
        FIELD(HEX, vid),
        FIELD(HEX, pid),
        FIELD(HEX, bcd),
        FIELD(NUMBER, speed_mbps),
        FIELD(NUMBER, max_speed_mbps),
        FIELD(TEXT, usb_version),
        FIELD(TEXT, manufacturer),
        FIELD(TEXT, product),
        FIELD(TEXT, serial),
        FIELD(BOOL, caps.bot),
        FIELD(BOOL, caps.uas),
        FIELD(BOOL, caps.pipes),
        FIELD(NUMBER, caps.uas_alt),
        FIELD(NUMBER, caps.max_power),
        FIELD(NUMBER, caps.status_streams),
        FIELD(NUMBER, caps.interfaces),
        FIELD(ERROR, caps_error),
        FIELD(DRIVER, driver),
        FIELD(TEXT, driver_name),
        FIELD(NUMBER, alt),
        FIELD(BOOL, authorized),
        FIELD(BOOL, just_unbound),
        FIELD(TEXT, controller),
        FIELD(TEXT, controller_device),
        FIELD(BOOL, no_sg),
        FIELD(BOOL, no_streams),
        FIELD(BOOL, uas_kept_away),
        FIELD(MODULE, uas_module),
        FIELD(TEXT, quirks),
        FIELD(TEXT, quirks_own),
        FIELD(POLICY, policy),
        FIELD(SOURCE, policy_source),
        FIELD(BOOL, policy_forced),
        FIELD(VERDICT, verdict),
        FIELD(BOOL, verdict_by_past),
        FIELD(BOOL, distrusted),
        FIELD(BOOL, trial_failed),
        FIELD(BOOL, trial_open),
        FIELD(BOOL, trial_ended),
        FIELD(BOOL, trial_passed),
        FIELD(DRIVER, override_target),
        FIELD(BOOL, override_forced),
        FIELD(DRIVER, unknown_target),
        FIELD(TEXT, distrust_reason),
        FIELD(TEXT, distrust_date),
        FIELD(TEXT, distrust_kernel),
        FIELD(BOOL, initramfs_old),
#undef FIELD
};

/* An enum's word as the number it is, and back. */
static const char *word_of(enum kind kind, unsigned value)
{
        switch (kind) {
        case DRIVER:
                return driver_to_string((enum driver) value);
        case POLICY:
                return policy_to_string((enum policy) value);
        case SOURCE:
                return policy_source_to_string((enum policy_source) value);
        case VERDICT:
                return verdict_to_string((enum verdict) value);
        case MODULE:
                return uas_module_to_string((enum uas_module) value);
        case TEXT:
        case NUMBER:
        case HEX:
        case BOOL:
        case ERROR:
                break;
        }
        return NULL;
}

static int value_of(enum kind kind, const char *word)
{
        switch (kind) {
        case DRIVER:
                return driver_from_string(word);
        case POLICY:
                return policy_from_string(word);
        case SOURCE:
                return policy_source_from_string(word);
        case VERDICT:
                return verdict_from_string(word);
        case MODULE:
                return uas_module_from_string(word);
        case TEXT:
        case NUMBER:
        case HEX:
        case BOOL:
        case ERROR:
                break;
        }
        return -EINVAL;
}

static uint64_t load(const void *at, size_t size)
{
        switch (size) {
        case sizeof(uint8_t):
                return *(const uint8_t *) at;
        case sizeof(uint16_t):
                return *(const uint16_t *) at;
        default:
                return *(const unsigned *) at;
        }
}

static void store(void *at, size_t size, uint64_t value)
{
        switch (size) {
        case sizeof(uint8_t):
                *(uint8_t *) at = (uint8_t) value;
                break;
        case sizeof(uint16_t):
                *(uint16_t *) at = (uint16_t) value;
                break;
        default:
                *(unsigned *) at = (unsigned) value;
        }
}

static json_object *write_field(const struct field *d, const void *at)
{
        char text[16];

        switch (d->kind) {
        case TEXT:
                return json_object_new_string(at);
        case NUMBER:
                return json_object_new_int64((int64_t) load(at, d->size));
        case HEX:
                (void) snprintf(text, sizeof(text), "%04x", *(const uint16_t *) at);
                return json_object_new_string(text);
        case BOOL:
                return json_object_new_boolean(*(const bool *) at);
        case ERROR:
                return json_object_new_int(*(const int *) at);
        case DRIVER:
        case POLICY:
        case SOURCE:
        case VERDICT:
        case MODULE:
                return json_object_new_string(word_of(d->kind, (unsigned) load(at, d->size)));
        }
        return NULL;
}

json_object *facts_to_json(const struct facts *f)
{
        json_object *o = json_object_new_object();
        bool ok = o;

        for (size_t i = 0; ok && i < ELEMENTSOF(fields); i++)
                ok = put(o, fields[i].name, write_field(&fields[i], (const char *) f + fields[i].offset), false);
        return whole(o, ok);
}

static bool read_number(json_object *o, int64_t min, int64_t max, int64_t *ret)
{
        if (!json_object_is_type(o, json_type_int))
                return false;
        *ret = json_object_get_int64(o);
        return min <= *ret && *ret <= max;
}

static bool read_field(const struct field *d, json_object *o, void *at)
{
        const char *text = json_object_is_type(o, json_type_string) ? json_object_get_string(o) : NULL;
        unsigned long long hex;
        int64_t number;
        int word;

        /* A string may have a NUL in it. */
        if (text && strlen(text) != (size_t) json_object_get_string_len(o))
                return false;
        switch (d->kind) {
        case TEXT:
                return text && copy_string(at, d->size, text);
        case NUMBER:
                if (!read_number(o, 0, (int64_t) (UINT64_MAX >> (64 - 8 * d->size)), &number))
                        return false;
                store(at, d->size, (uint64_t) number);
                return true;
        case HEX:
                if (!text || strlen(text) != 4 || parse_uint(text, 16, UINT16_MAX, &hex) < 0)
                        return false;
                store(at, d->size, hex);
                return true;
        case BOOL:
                *(bool *) at = json_object_get_boolean(o);
                return json_object_is_type(o, json_type_boolean);
        case ERROR:
                if (!read_number(o, -ERRNO_MAX, 0, &number))
                        return false;
                *(int *) at = (int) number;
                return true;
        case DRIVER:
        case POLICY:
        case SOURCE:
        case VERDICT:
        case MODULE:
                word = text ? value_of(d->kind, text) : -EINVAL;
                if (word < 0)
                        return false;
                store(at, d->size, (uint64_t) word);
                return true;
        }
        return false;
}

int facts_from_json(json_object *o, struct facts *ret, size_t *ret_missing, const char **ret_bad)
{
        struct facts f;
        size_t missing = 0;

        memset(&f, 0, sizeof(f));
        for (size_t i = 0; i < ELEMENTSOF(fields); i++) {
                json_object *value;

                if (!json_object_object_get_ex(o, fields[i].name, &value))
                        missing++;
                else if (!read_field(&fields[i], value, (char *) &f + fields[i].offset)) {
                        *ret_bad = fields[i].name;
                        return -EBADMSG;
                }
        }
        memcpy(ret, &f, sizeof(f)); /* with what is between the fields */
        *ret_missing = missing;
        return 0;
}
