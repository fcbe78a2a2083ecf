/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus/error.h"

#include "common/sentence.h"

int bus_error_set_valist(sd_bus_error *e, const char *name, const char *format, va_list ap)
{
        char text[1024];

        return sd_bus_error_set(e, name, sentence_valist(text, sizeof(text), format, ap));
}

int bus_error_set(sd_bus_error *e, const char *name, const char *format, ...)
{
        va_list ap;
        int r;

        va_start(ap, format);
        r = bus_error_set_valist(e, name, format, ap);
        va_end(ap);
        return r;
}

int bus_error_send(sd_bus_message *call, const sd_bus_error *e)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        char text[1024];
        int r;

        (void) sentence_english(e->message ?: "", text, sizeof(text));
        r = sd_bus_message_new_method_errorf(call, &m, e->name, "%s", text);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "s", e->message);
        if (r < 0)
                return r;
        return sd_bus_send(NULL, m, NULL);
}
