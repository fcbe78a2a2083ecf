/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <syslog.h>

#include "common/util.h"

/*
 * Writes to the journal with fields if stderr is connected to the journal, otherwise plain lines to
 * stderr. It never blocks and never fails. Without a journal the text goes to stderr. Without
 * stderr it is lost.
 */
void log_open(const char *program, int max_level);
/* As log_open(), for a program that a start script runs: if stderr is /dev/null, its messages go to
 * syslogd, or to a file. */
void log_open_service(const char *program, int max_level);
/* Calls f before each line, to erase a progress line on the terminal. */
void log_before_line(void (*f)(void));
/* Attributes messages also to that process. journald finds no unit for a process that has ended,
 * and `journalctl -u` would not show its messages. */
void log_for(pid_t pid);
_printf_(2, 3) void log_full(int level, const char *format, ...);

#define log_error(...) log_full(LOG_ERR, __VA_ARGS__)
/* The same as a value: the exit status or errno of the failure. */
#define log_failure(value, ...) (log_error(__VA_ARGS__), (value))
/* The same for a message that is no error. */
#define log_answer(value, ...) (log_info(__VA_ARGS__), (value))
#define log_warning(...) log_full(LOG_WARNING, __VA_ARGS__)
#define log_notice(...) log_full(LOG_NOTICE, __VA_ARGS__)
#define log_info(...) log_full(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_full(LOG_DEBUG, __VA_ARGS__)

#define LOG_FIELDS_MAX 12
#define LOG_VALUE_MAX 1536 /* of a field; a longer one is cut */

struct log_field {
        const char *name;  /* one of FIELD_* */
        const char *value; /* NULL: left out */
};

/* Logs an ending. message_id is one of MESSAGE_*. Values are made harmless. */
_printf_(5, 6) void log_ending(int level, const char *message_id, const struct log_field *fields,
                               size_t n_fields, const char *format, ...);
