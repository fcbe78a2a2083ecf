/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/kernel-args.h"

#include <string.h>

#define BLANK " \t\n\v\f\r"

char *kernel_next_arg(char *args, char **ret_name, char **ret_value)
{
        char *p = args + strspn(args, BLANK), *name, *value = NULL, *end;
        bool quoted = *p == '"', inside = quoted;

        if (!*p)
                return NULL;
        if (quoted)
                p++;
        for (name = end = p; *end && (inside || !strchr(BLANK, *end)); end++) {
                if (*end == '=' && !value)
                        value = end + 1;
                if (*end == '"')
                        inside = !inside;
        }
        p = *end ? end + 1 : end;
        *end = '\0';
        if (quoted && end > name && end[-1] == '"')
                *--end = '\0';
        if (value) {
                value[-1] = '\0';
                if (*value == '"') {
                        value++;
                        if (end > value && end[-1] == '"')
                                end[-1] = '\0';
                }
        }
        *ret_name = name;
        *ret_value = value;
        return p;
}

bool kernel_name_is(const char *argument, const char *name)
{
        for (; *argument && *name; argument++, name++)
                if (*argument != *name && (!strchr("-_", *argument) || !strchr("-_", *name)))
                        return false;
        return *argument == *name;
}
