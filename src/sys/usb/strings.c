/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/usb/strings.h"

#include "common/names.h"
#include "common/util.h"
#include "sys/io/statefile.h"
#include "sys/udev/udevdb.h"

#define ESCAPED_MAX (4 * USB_STRING_MAX) /* "\x1b" for each byte */

struct kept_strings {
        unsigned long long vid, pid;
        char manufacturer[USB_STRING_MAX], product[USB_STRING_MAX], serial[USB_STRING_MAX];
        bool has_vid, has_pid, has_manufacturer, has_product, has_serial;
};

/* Decodes a string of make_harmless(). That escapes the backslash as well, so every byte comes back. */
static bool take_string(const char *value, char ret[static USB_STRING_MAX])
{
        char text[ESCAPED_MAX];

        if (!copy_string(text, sizeof(text), value))
                return false;
        udevdb_decode(text);
        return copy_string(ret, USB_STRING_MAX, text);
}

static int strings_line(const char *key, const char *value, void *data)
{
        struct kept_strings *k = data;

        if (streq(key, "VID"))
                k->has_vid = parse_uint(value, 16, UINT16_MAX, &k->vid) >= 0;
        else if (streq(key, "PID"))
                k->has_pid = parse_uint(value, 16, UINT16_MAX, &k->pid) >= 0;
        else if (streq(key, "MANUFACTURER"))
                k->has_manufacturer = take_string(value, k->manufacturer);
        else if (streq(key, "PRODUCT"))
                k->has_product = take_string(value, k->product);
        else if (streq(key, "SERIAL"))
                k->has_serial = take_string(value, k->serial);
        return 0;
}

static char *strings_path(const struct facts *f, char ret[static 128])
{
        char name[ATTACHMENT_MAX];

        (void) concat(ret, 128, RUN_STRINGS "/", facts_attachment(f, name));
        return ret;
}

bool strings_kept(const struct roots *r, struct facts *f)
{
        struct kept_strings k = {0};
        char path[128];

        if (state_read(r->run, strings_path(f, path), strings_line, &k) <= 0)
                return false;
        if (!k.has_vid || !k.has_pid || !k.has_manufacturer || !k.has_product || !k.has_serial || k.vid != f->vid ||
            k.pid != f->pid)
                return false;
        memcpy(f->manufacturer, k.manufacturer, sizeof(f->manufacturer));
        memcpy(f->product, k.product, sizeof(f->product));
        memcpy(f->serial, k.serial, sizeof(f->serial));
        return true;
}

int strings_keep(const struct roots *r, const struct facts *f)
{
        char manufacturer[ESCAPED_MAX], product[ESCAPED_MAX], serial[ESCAPED_MAX];
        char path[128], text[3 * ESCAPED_MAX + 128];

        (void) snprintf(text, sizeof(text), "VID=%04x\nPID=%04x\nMANUFACTURER=%s\nPRODUCT=%s\nSERIAL=%s\n", f->vid, f->pid,
                        make_harmless(f->manufacturer, manufacturer, sizeof(manufacturer)),
                        make_harmless(f->product, product, sizeof(product)), make_harmless(f->serial, serial, sizeof(serial)));
        return state_write(r->run, strings_path(f, path), text, false);
}
