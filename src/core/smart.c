/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/smart.h"

#include "common/util.h"

#define TYPE_KEY "USB Type"

/* An argument of -d, such as "sat,12" and "sntjmicron". It is passed to smartctl and printed. */
static bool is_type(const char *s)
{
        return *s >= 'a' && s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789,+/")] == '\0';
}

bool smart_type_parse(const char *text, char ret[static SMART_TYPE_MAX])
{
        for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
                char type[SMART_TYPE_MAX];
                size_t n;

                if (!startswith(line, TYPE_KEY))
                        continue;
                line += strlen(TYPE_KEY);
                line += strspn(line, ": \t");
                n = strcspn(line, " \t\r\n");
                if (n >= sizeof(type))
                        return false;
                memcpy(type, line, n);
                type[n] = '\0';
                if (!is_type(type)) /* "[unsupported]" */
                        return false;
                (void) copy_string(ret, SMART_TYPE_MAX, type);
                return true;
        }
        return false;
}

const char *smart_why_not(const struct smart_case *c)
{
        if (c->leased)
                return "it is leased, and its holder may be measuring it";
        if (c->switching || c->state == STATE_SWITCHING)
                return "it is being switched";
        if (c->state != STATE_SETTLED && c->state != STATE_INCAPABLE)
                return "it is not settled";
        if (startswith(c->history, "distrusted"))
                return "it is distrusted";
        if (strstr(c->history, "on trial"))
                return "it is on trial";
        if (c->verdict == VERDICT_BAD)
                return "its bridge is known to be bad under uas";
        if (c->timeouts)
                return "commands to it have timed out";
        if (!c->known)
                return "smartctl's database does not have its bridge";
        return c->root ? NULL : "only root may ask it";
}
