/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "common/gettext.h"
#include "common/journal.h"
#include "common/names.h"
#include "common/sentence.h"
#include "common/syslogd.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char *log_program = "uasd";
static int log_max_level = LOG_INFO;
static bool log_journal, log_syslog;
static pid_t log_object;
static void (*log_before)(void);

/* $JOURNAL_STREAM is inherited: it counts only if stderr still is that same stream
 * (systemd.exec(5)). */
static bool stderr_is_journal(void)
{
        const char *s = getenv("JOURNAL_STREAM");
        unsigned long long dev, ino;
        struct stat st;

        return s && sscanf(s, "%llu:%llu", &dev, &ino) == 2 && fstat(STDERR_FILENO, &st) >= 0 &&
               st.st_dev == dev && st.st_ino == ino;
}

void log_open(const char *program, int max_level)
{
        log_program = program;
        log_max_level = max_level;
        log_journal = stderr_is_journal();
}

static bool stderr_is_null(void)
{
        struct stat st;

        return fstat(STDERR_FILENO, &st) >= 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

void log_open_service(const char *program, int max_level)
{
        log_open(program, max_level);
        log_syslog = stderr_is_null();
}

void log_before_line(void (*f)(void))
{
        log_before = f;
}

void log_for(pid_t pid)
{
        log_object = pid;
}

static bool log_send_journal(int level, const char *message, const char *message_id,
                             const struct log_field *fields, size_t n_fields)
{
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);
        int r;

        if (!f)
                return false;
        (void) fprintf(f, "MESSAGE=%s\nPRIORITY=%i\nSYSLOG_IDENTIFIER=%s\n", message, level,
                       log_program);
        if (log_object > 0)
                (void) fprintf(f, "OBJECT_PID=%i\n", (int) log_object);
        if (message_id)
                (void) fprintf(f, "MESSAGE_ID=%s\n", message_id);
        for (size_t i = 0; i < n_fields; i++) {
                char harmless[LOG_VALUE_MAX];

                if (!isempty(fields[i].value))
                        (void) fprintf(f, "%s=%s\n", fields[i].name,
                                       make_harmless(fields[i].value, harmless, sizeof(harmless)));
        }
        if (fclose(f) < 0)
                return false;
        r = journal_send(text, size);
        /* journald hangs. A write to stderr, which goes to journald as well, would hang this
         * program. */
        return r >= 0 || r == -EAGAIN;
}

/* Each byte may become "\x0a". */
#define LINE_ROOM(message) (strlen(log_program) + 4 * strlen(message) + sizeof(": \n"))
#define KMSG_LINE 900 /* shorter than LOG_LINE_MAX of the kernel */

static void log_send(int level, const char *message, const char *message_id,
                     const struct log_field *fields, size_t n)
{
        size_t room = LINE_ROOM(message);
        _cleanup_free_ char *line = malloc(room);
        size_t head;

        if (log_before)
                log_before();
        if (!line)
                return;
        head = (size_t) snprintf(line, room, "%s: ", log_program);
        make_harmless(message, line + head, room - head - 1);
        if (log_journal && log_send_journal(level, line + head, message_id, fields, n))
                return;
        (void) stpcpy(line + strlen(line), "\n");
        if (log_syslog) {
                syslogd_send("/dev/" DEV_SYSLOG, "/run/" RUN_DIR, level, line);
                return;
        }
        /* One write(2): dprintf(3) first asks for the position, and fails on /dev/kmsg. That takes
         * only short lines. */
        if (write(STDERR_FILENO, line, strlen(line)) < 0 && errno == EINVAL &&
            strlen(line) > KMSG_LINE)
                (void) !write(STDERR_FILENO, line, KMSG_LINE);
}

/* A sentence in parts: the message is English, and uasctl reads the field with the parts. */
static void log_send_sentence(int level, const char *text, const char *message_id,
                              const struct log_field *fields, size_t n)
{
        struct log_field all[LOG_FIELDS_MAX];
        char whole[LOG_VALUE_MAX];

        if (!sentence_is_in_parts(text)) {
                log_send(level, text, message_id, fields, n);
                return;
        }
        for (size_t i = 0; i < n; i++)
                all[i] = fields[i];
        all[n] = (struct log_field){FIELD_PARTS, text};
        log_send(level, sentence_english(text, whole, sizeof(whole)), message_id, all,
                 n + (message_id != NULL));
}

_printf_(5, 0) static void log_valist(int level, const char *message_id,
                                      const struct log_field *fields, size_t n, const char *format,
                                      va_list ap)
{
        int saved = errno;
        _cleanup_free_ char *text = NULL;

        if (level > log_max_level)
                return;
        /* Whole: it may contain a command, which is something else if it is cut. */
        if (vasprintf(&text, gettext(format), ap) >= 0)
                log_send_sentence(level, text, message_id, fields, n);
        else {
                text = NULL;
                log_send(LOG_ERR, strerror(ENOMEM), message_id, fields, n);
        }
        errno = saved;
}

void log_full(int level, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        log_valist(level, NULL, NULL, 0, format, ap);
        va_end(ap);
}

void log_ending(int level, const char *message_id, const struct log_field *fields, size_t n_fields,
                const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        log_valist(level, message_id, fields, n_fields, format, ap);
        va_end(ap);
}
