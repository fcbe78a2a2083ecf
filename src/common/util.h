/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ELEMENTSOF(a) (sizeof(a) / sizeof((a)[0]))
#define _cleanup_(f) __attribute__((cleanup(f)))
#define _unused_ __attribute__((unused))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
/* Returns a value that the variable owned, and leaves nothing in it to be freed. */
#define TAKE_VALUE(v, nothing)                                                                     \
        ({                                                                                         \
                __typeof__(v) *_at = &(v), _taken = *_at;                                          \
                *_at = (nothing);                                                                  \
                _taken;                                                                            \
        })
#define TAKE_PTR(p) TAKE_VALUE(p, NULL)
#define TAKE_FD(fd) TAKE_VALUE(fd, -1)
#define TAKE_STRUCT(s) TAKE_VALUE(s, (__typeof__(s)){})

/* Microseconds: a span, or a time of the clock that is named beside it. */
typedef uint64_t usec_t;
#define USEC_PER_SEC 1000000ULL
#define USEC_PER_MSEC 1000ULL

static inline int close_keep_errno(int fd)
{
        if (fd >= 0) {
                int saved = errno;
                (void) close(fd);
                errno = saved;
        }
        return -1;
}
static inline void closep(int *fd)
{
        *fd = close_keep_errno(*fd);
}
static inline void freep(void *p)
{
        free(*(void **) p);
}
static inline void fclosep(FILE **f)
{
        if (*f)
                (void) fclose(*f);
}
/* Adds to a NULL-terminated list of strings; and frees all of it. */
int strv_push(char ***list, size_t *n, const char *s);
void strv_free(char **list);
static inline void strvp(char ***list)
{
        strv_free(*list);
}
#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_strv_ _cleanup_(strvp)

static inline bool streq(const char *a, const char *b)
{
        return strcmp(a, b) == 0;
}
static inline bool isempty(const char *s)
{
        return !s || !*s;
}
/* Returns the text behind the prefix, or NULL if `s` does not begin with it. */
static inline const char *startswith(const char *s, const char *prefix)
{
        size_t n = strlen(prefix);

        return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}
static inline bool endswith(const char *s, const char *suffix)
{
        size_t n = strlen(s), m = strlen(suffix);

        return n >= m && streq(s + n - m, suffix);
}

/* Returns the next line of a text; "" behind the last one. */
static inline const char *next_line(const char *line)
{
        line += strcspn(line, "\n");
        return line + (*line == '\n');
}

/* Returns true for the directory itself and for everything below it. */
static inline bool path_is_in(const char *path, const char *directory)
{
        const char *below = startswith(path, directory);

        return below && (*below == '\0' || *below == '/' || streq(directory, "/"));
}

/* Returns true for a negative errno that says nothing about a file: memory or file descriptors have
 * run out. */
bool no_room_for_files(int error);
/* Reads up to `size` bytes, until the end of the file. Returns the count, or a negative errno. */
ssize_t read_full(int fd, void *ret, size_t size);
/* Reads a regular file from its beginning, and adds a NUL. -EINVAL: not a regular file. -EFBIG:
 * larger than max. */
int read_whole(int fd, size_t max, char **ret, size_t *ret_size);
/*
 * getline(), which does not distinguish the end of a file from memory that ran out: half a table
 * would look like all of it. Returns the length of the line, 0 at the end, -ENOMEM or -EIO.
 */
int read_line(FILE *f, char **line, size_t *room);
/* Copies what fits, always with a NUL. Returns true if all of it fitted. */
bool copy_string(char *ret, size_t size, const char *s);
/* The same with the first n bytes of a string. */
bool copy_part(char *ret, size_t size, const char *s, size_t n);
/* Appends to a text of `size` bytes. The part that does not fit is omitted. */
void text_add(char *ret, size_t size, const char *format, ...) _printf_(3, 4);
/* The same, after ", " unless it is the first part. */
void text_join(char *ret, size_t size, const char *format, ...) _printf_(3, 4);
/* Writes strings one after the other: many times as fast as snprintf(). Returns true if all of them
 * fitted. */
#define concat(ret, size, ...) concat_list(ret, size, __VA_ARGS__, (const char *) NULL)
bool concat_list(char *ret, size_t size, ...) __attribute__((sentinel));
/* The path that the strings make, good until the end of the block. A longer one is "", and no file
 * has that name. */
#define PATH_JOIN_MAX 512
#define path_join(...) path_join_list((char[PATH_JOIN_MAX]){}, __VA_ARGS__, (const char *) NULL)
const char *path_join_list(char ret[static PATH_JOIN_MAX], ...) __attribute__((sentinel));
/* Adds an item to a list of `n`. False: no memory, and the list is as before. */
#define list_push(list, n, item)                                                                   \
        ({                                                                                         \
                __typeof__(list) _grown = reallocarray(list, (n) + 1, sizeof(*_grown));            \
                if (_grown) {                                                                      \
                        (list) = _grown;                                                           \
                        _grown[(n)++] = (item);                                                    \
                }                                                                                  \
                _grown != NULL;                                                                    \
        })
/* Length of the well-formed UTF-8 character at s; 0: none. */
size_t utf8_decode(const char *s, uint32_t *ret);
/* Makes control and format characters and invalid UTF-8 visible as \xNN. For all names from a
 * device or user. */
char *make_harmless(const char *s, char *ret, size_t size);
/* The same for our own sentences. Names in them may already be harmless: "\x1b" must not become
 * "\x5cx1b". */
char *harmless_sentence(const char *s, char *ret, size_t size);
/* Decodes "\x20" to " ", in place, as make_harmless() and udev (ID_MODEL_ENC) encode. Other
 * backslashes stay. */
void unescape(char *s);
/* c: a hexadecimal digit. */
unsigned hex_digit(char c);
/* Only digits of `base`, no sign, no space. 0, -EINVAL or -ERANGE. */
int parse_uint(const char *s, unsigned base, unsigned long long max, unsigned long long *ret);
/* Reads exactly n decimal numbers with a character between them: "8:16". Returns false if s is
 * something else. */
bool parse_numbers(const char *s, char between, unsigned *ret, size_t n);
/* The digits at the front of *s, up to any other character; advances *s behind them. 0, -EINVAL or
 * -ERANGE. */
int take_uint(const char **s, unsigned base, unsigned long long max, unsigned long long *ret);
