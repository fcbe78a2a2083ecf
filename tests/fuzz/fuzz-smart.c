/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The output of smartctl, which has strings of the disk. 't': the entry of its data base.
 * Otherwise: its JSON about a disk. */
#include "ctl/health.h"

#include <limits.h>

#include "fuzz.h"

static void check_type(const char *text)
{
        char type[SMART_TYPE_MAX] = "";

        if (smart_type_parse(text, type) != SMART_FOUND)
                return;
        CHECK(*type && strlen(type) < sizeof(type) && strstr(text, type));
        CHECK(*type != '-' && !strpbrk(type, " \n\t'\"\\")); /* it becomes an argument */
}

static void check_json(const char *text)
{
        struct smart s = {.passed = -1, .temperature = INT_MIN};

        smart_parse(text, &s);
        CHECK(s.passed >= -1 && s.passed <= 1);
        CHECK(s.temperature == INT_MIN || (s.temperature >= -273 && s.temperature < 1000));
        /* Either an answer, or a reason. */
        CHECK(!s.why_not == (s.passed >= 0 || s.temperature != INT_MIN));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = fuzz_text(data, size);

        if (size > 0 && *text == 't')
                check_type(text + 1);
        else
                check_json(text);
        free(text);
        return 0;
}
