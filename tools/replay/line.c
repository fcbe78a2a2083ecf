/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the forms in which dmesg, journalctl and syslog print the messages of the kernel. */
#include <time.h>

#include "replay.h"

/* A time stands at most so far behind the start of a line. */
#define TIME_WITHIN 80

/* Removes colours, the carriage return, and the separator of JSON sequences. */
static void clean(char *line)
{
        char *to = line;

        for (const char *s = line; *s; s++) {
                if (s[0] == '\033' && s[1] == '[') {
                        s += 2;
                        s += strspn(s, "0123456789;");
                        if (!*s)
                                break;
                } else if (*s != '\r' && *s != '\n' && *s != '\036')
                        *to++ = *s;
        }
        *to = '\0';
}

/* Reads up to six digits behind a point or comma. Returns the end; without a fraction that is the
 * start. */
static const char *take_fraction(const char *s, usec_t *usec)
{
        usec_t unit = USEC_PER_SEC;

        if ((*s != '.' && *s != ',') || s[1] < '0' || s[1] > '9')
                return s;
        for (s++; *s >= '0' && *s <= '9'; s++)
                if (unit > 1) {
                        unit /= 10;
                        *usec += (usec_t) (*s - '0') * unit;
                }
        return s;
}

static const char *take_seconds(const char *s, usec_t *ret)
{
        unsigned long long sec;

        if (take_uint(&s, 10, UINT32_MAX, &sec) < 0 || *s != '.')
                return NULL;
        *ret = (usec_t) sec * USEC_PER_SEC;
        return take_fraction(s, ret);
}

static const char *take_date(const char *s, usec_t *ret)
{
        static const char *const formats[] = {
                "%Y-%m-%dT%H:%M:%S", /* journalctl -o short-iso, dmesg --time-format=iso, rsyslog */
                "%b %d %H:%M:%S",    /* journalctl, syslog */
                "%a %b %d %H:%M:%S %Y", /* dmesg -T */
                "%a %Y-%m-%d %H:%M:%S", /* journalctl -o short-full */
                "%b %d %H:%M",          /* dmesg -e */
        };

        for (size_t i = 0; i < ELEMENTSOF(formats); i++) {
                struct tm tm = {.tm_year = 100, .tm_mday = 1};
                const char *end = strptime(s, formats[i], &tm);

                if (end && tm.tm_year >= 70 && tm.tm_year < 1000) {
                        *ret = (usec_t) timegm(&tm) * USEC_PER_SEC;
                        return take_fraction(end, ret);
                }
        }
        return NULL;
}

/* ---- JSON ---- */

/* Copies the text of a member. A value cannot contain '"NAME":"', because JSON escapes its
 * quotation marks. */
static bool take_member(const char *line, const char *name, char *ret, size_t size)
{
        char key[48];
        const char *s;
        size_t n = 0;

        (void) snprintf(key, sizeof(key), "\"%s\":\"", name);
        s = strstr(line, key);
        if (!s)
                return false;
        for (s += strlen(key); *s && *s != '"'; s++) {
                char c = *s;

                if (c == '\\') {
                        c = *++s;
                        if (!c)
                                break;
                        if (c == 'u') { /* no message of interest has such a character */
                                c = '?';
                                s += strnlen(s + 1, 4);
                        } else if (c != '"' && c != '\\' && c != '/')
                                c = ' ';
                }
                if (n + 1 < size)
                        ret[n++] = c;
        }
        ret[n] = '\0';
        return *s == '"';
}

static bool read_json(struct reader *r, const char *line, struct kmsg *ret)
{
        char word[32];
        const char *number = word;
        unsigned long long usec;
        struct kmsg k = {0};

        if (!take_member(line, "_TRANSPORT", word, sizeof(word)) || !streq(word, "kernel") ||
            !take_member(line, "MESSAGE", k.text, sizeof(k.text)))
                return false;
        if (take_member(line, "SYSLOG_FACILITY", word, sizeof(word)) && !streq(word, "0"))
                return false;
        if ((take_member(line, "_SOURCE_MONOTONIC_TIMESTAMP", word, sizeof(word)) ||
             take_member(line, "__MONOTONIC_TIMESTAMP", word, sizeof(word))) &&
            take_uint(&number, 10, UINT64_MAX, &usec) >= 0) {
                r->usec = usec;
                r->timed = true;
        }
        k.usec = r->usec;
        (void) take_member(line, "_KERNEL_SUBSYSTEM", k.subsystem, sizeof(k.subsystem));
        (void) take_member(line, "_KERNEL_DEVICE", k.device, sizeof(k.device));
        *ret = k;
        return true;
}

/* ---- text ---- */

/* "HOST kernel: MESSAGE". Returns the message; NULL: another program has written it, or it has no
 * such head. */
static const char *behind_kernel(const char *s, bool *program)
{
        const char *colon = strstr(s, ": "), *word = colon;

        if (!colon)
                return NULL;
        while (word > s && word[-1] != ' ')
                word--;
        if (word == s) /* the word of a line without a host: of the message itself */
                return NULL;
        if (colon - word == 6 && strncmp(word, "kernel", 6) == 0)
                return colon + 2;
        *program = *program || colon[-1] == ']';
        return NULL;
}

/* "[    2.000000] ", also "[    2.000000 <    0.100000>] ", "[  +0.100000] " and "[Mar 3 10:00] ".
 * Returns what follows. */
static const char *take_bracket(struct reader *r, const char *bracket)
{
        const char *s = bracket + 1 + strspn(bracket + 1, " "), *end = strchr(s, ']');
        bool later = *s == '+';
        usec_t usec = 0;

        if (!end || !(s = take_seconds(s + later, &usec) ?: take_date(bracket + 1, &usec)))
                return NULL;
        if (*s == ' ' && s[1] == '<')
                s = end;
        if (s != end)
                return NULL;
        r->usec = later ? r->usec + usec : usec;
        r->timed = true;
        return end + 1;
}

/* The level of the message stands before it: "<6>", or "kern  :info  : ". Returns false for one of
 * a program. */
static bool is_of_kernel(const char *line)
{
        char facility[16], level[16];
        unsigned priority;

        if (sscanf(line, "<%u>", &priority) == 1)
                return priority < 8;
        return sscanf(line, "%15[a-z] :%15[a-z] :", facility, level) != 2 ||
               streq(facility, "kern");
}

static const char *read_text(struct reader *r, const char *line)
{
        const char *text = line, *rest, *message;
        usec_t usec = 0;
        bool program = false, dated = false;

        if (!is_of_kernel(line))
                return NULL;
        if ((rest = take_date(line, &usec)) ||
            ((rest = take_seconds(line, &usec)) && rest - line > 9 && *rest == ' ')) {
                dated = true;
                message = behind_kernel(rest, &program);
                /* dmesg has a comma before the fraction, and no host. */
                if (!message && strcspn(line, ",") < (size_t) (rest - line) &&
                    (message = strchr(rest, ' ')))
                        message++;
                if (!message)
                        return NULL;
                r->usec = usec;
                r->timed = true;
                text = message;
        }
        for (const char *bracket = strchr(text, '['); bracket && bracket < text + TIME_WITHIN;
             bracket = strchr(bracket + 1, '[')) {
                rest = take_bracket(r, bracket);
                if (!rest)
                        continue;
                text = rest;
                message = dated ? NULL : behind_kernel(text, &program);
                if (program)
                        return NULL;
                if (message)
                        text = message;
                break;
        }
        text += strspn(text, " ");
        if (text[0] == '[') { /* "[    T123] ", the caller */
                const char *s = text + 1 + strspn(text + 1, " ");

                if ((*s == 'T' || *s == 'C') && s[1 + strspn(s + 1, "0123456789")] == ']')
                        text = strchr(s, ']') + 1;
        }
        return text + strspn(text, " ");
}

/* Forms of the journal that are not one message a line. */
static const char *refuse(const char *line)
{
        if (streq(line, "{"))
                return "json-pretty";
        if (startswith(line, "data: {"))
                return "json-sse";
        if (startswith(line, "__CURSOR="))
                return "export";
        if (strstr(line, " [s=") && strstr(line, ";i=") && strstr(line, ";b="))
                return "verbose";
        return NULL;
}

bool line_read(struct reader *r, char *line, struct kmsg *ret)
{
        struct kmsg k = {0};
        const char *text;

        clean(line);
        r->refused = r->refused ?: refuse(line);
        if (r->refused || !line[strspn(line, " ")] || startswith(line, "-- "))
                return false;
        r->other = true;
        if (line[0] == '{') {
                if (!read_json(r, line, &k))
                        return false;
        } else if (kmsg_parse(line, &k) >= 0) { /* cat /dev/kmsg */
                if (k.user)
                        return false;
                r->usec = k.usec;
                r->timed = true;
        } else {
                text = read_text(r, line);
                if (!text || !*text)
                        return false;
                (void) copy_part(k.text, sizeof(k.text), text, strlen(text));
                k.usec = r->usec;
        }
        r->records++;
        *ret = k;
        return true;
}
