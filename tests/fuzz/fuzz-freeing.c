/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The commands that free a disk, which people paste into a root shell. Users choose the names of
 * mount points, volumes and units. Lines: a kind, then the texts. A command is known words and then
 * at most one word that a shell reads as that name.
 */
#include "core/disk.h"
#include "core/freeing.h"
#include "core/remedy.h"

#include "fuzz.h"

/* Reads one word as a POSIX shell does. False: another character than a name's has a meaning there.
 */
static bool shell_word(const char *s, char *ret)
{
        static const char plain[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";

        while (*s)
                if (*s == '\'') {
                        const char *end = strchr(++s, '\'');

                        if (!end)
                                return false;
                        memcpy(ret, s, (size_t) (end - s));
                        ret += end - s;
                        s = end + 1;
                } else if (*s == '\\' && s[1] == '\'') {
                        *ret++ = '\'';
                        s += 2;
                } else if (strchr(plain, *s))
                        *ret++ = *s++;
                else
                        return false;
        *ret = '\0';
        return true;
}

/* The command is the row's words, and an operand that the shell reads as it is. */
static void check_command(enum remedy id, const char *operand)
{
        char command[REMEDY_COMMAND_MAX], word[REMEDY_COMMAND_MAX];
        const char *words;
        size_t before;

        CHECK(id < _REMEDY_MAX);
        if (id == REMEDY_NONE)
                return;
        words = remedy_rows[id].words;
        before = (size_t) (strstr(words, "%s") - words);
        CHECK(strlen(operand) < REMEDY_OPERAND_MAX);
        if (!*remedy_command(id, operand, command, sizeof(command)))
                return;
        CHECK(strlen(command) < sizeof(command) && strncmp(command, words, before) == 0);
        CHECK(shell_word(command + before, word));
        CHECK(streq(word, operand) && *word != '-');
        for (const char *c = command; *c; c++)
                CHECK((unsigned char) *c >= ' ' && *c != 0x7f);
}

static void check_holder(const char *name, const char *mapping, const char *uuid)
{
        char operand[REMEDY_OPERAND_MAX] = "";
        enum remedy id = freeing_holder(name, mapping, uuid, operand);

        check_command(id, operand);
        if (id == REMEDY_VOLUME) { /* "vg--data/lv" of "vg----data-lv": a dash in a name is two */
                const char *p = mapping;

                for (const char *o = operand; *o; o++, p++)
                        CHECK(*o == '-' ? *p == '-' && *++p == '-'
                                        : *o == *p || (*o == '/' && *p == '-'));
                CHECK(!*p && strchr(operand, '/'));
        } else if (id == REMEDY_ARRAY)
                CHECK(streq(operand + strlen("/dev/"), name));
        else if (id != REMEDY_NONE && id != REMEDY_BCACHE && strlen(mapping) < sizeof(operand))
                CHECK(streq(operand, mapping));
}

static void check_user(uint8_t kind, char *where, char *unit)
{
        struct user u = {.kind = (enum user_kind)(kind % _USER_KIND_MAX),
                         .device = "sda1",
                         .where = where,
                         .unit = unit,
                         .pid = 7};
        char operand[REMEDY_OPERAND_MAX] = "";

        check_command(freeing_user(&u, operand), operand);
        check_command(freeing_unit(&u, operand), operand);
        check_command(freeing_process(&u, kind & 0x80, operand), operand);
        CHECK(streq(operand, "7"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = fuzz_text(data, size), *rest = text + 1, *one, *two, *three;

        if (size > 0) {
                one = fuzz_field(&rest, '\n');
                two = fuzz_field(&rest, '\n') ?: text + size;
                three = rest ?: text + size;
                if (*text == 'h') /* the kernel names block devices */
                        check_holder(*one == 'm' ? "md127" : "dm-0", two, three);
                else
                        check_user((uint8_t) *text, one, two);
        }
        free(text);
        return 0;
}
