/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/util.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>

ssize_t read_full(int fd, void *ret, size_t size)
{
        size_t used = 0;

        while (used < size) {
                ssize_t n = TEMP_FAILURE_RETRY(read(fd, (char *) ret + used, size - used));

                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                used += (size_t) n;
        }
        return (ssize_t) used;
}

int read_whole(int fd, size_t max, char **ret, size_t *ret_size)
{
        _cleanup_free_ char *text = NULL;
        struct stat st;
        ssize_t n;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        if ((uintmax_t) st.st_size > max)
                return -EFBIG;
        if (lseek(fd, 0, SEEK_SET) < 0) /* a writer may have used the same descriptor */
                return -errno;
        text = malloc((size_t) st.st_size + 1);
        if (!text)
                return -ENOMEM;
        n = read_full(fd, text, (size_t) st.st_size);
        if (n < 0)
                return (int) n;
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        *ret_size = (size_t) n;
        return 0;
}

bool no_room_for_files(int error)
{
        return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

int read_line(FILE *f, char **line, size_t *room)
{
        ssize_t n = getline(line, room, f);

        if (n >= INT_MAX)
                return -E2BIG;
        if (n >= 0)
                return (int) n;
        if (feof(f))
                return 0;
        return errno == ENOMEM ? -ENOMEM : -EIO;
}

bool copy_part(char *ret, size_t size, const char *s, size_t n)
{
        size_t length = strnlen(s, n);
        bool fits = length < size;

        if (!fits)
                length = size - 1;
        memcpy(ret, s, length);
        ret[length] = '\0';
        return fits;
}

bool copy_string(char *ret, size_t size, const char *s)
{
        return copy_part(ret, size, s, size);
}

static __attribute__((format(printf, 3, 0))) void text_add_valist(char *ret, size_t size,
                                                                  const char *format, va_list ap)
{
        size_t used = strlen(ret);

        /* The analyzer does not see the va_start() of text_add().
         * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
        (void) vsnprintf(ret + used, size - used, format, ap);
}

void text_add(char *ret, size_t size, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        text_add_valist(ret, size, format, ap);
        va_end(ap);
}

void text_join(char *ret, size_t size, const char *format, ...)
{
        va_list ap;

        if (*ret)
                text_add(ret, size, ", ");
        va_start(ap, format);
        text_add_valist(ret, size, format, ap);
        va_end(ap);
}

static bool concat_valist(char *ret, size_t size, va_list ap)
{
        bool fits = true;

        ret[0] = '\0';
        /* The analyzer does not see the va_start() of path_join_list().
         * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
        for (const char *s = va_arg(ap, const char *); s && fits; s = va_arg(ap, const char *)) {
                size_t n = strlen(s);

                fits = copy_string(ret, size, s);
                ret += n;
                size -= n;
        }
        return fits;
}

bool concat_list(char *ret, size_t size, ...)
{
        va_list ap;
        bool fits;

        va_start(ap, size);
        fits = concat_valist(ret, size, ap);
        va_end(ap);
        return fits;
}

const char *path_join_list(char ret[static PATH_JOIN_MAX], ...)
{
        va_list ap;

        va_start(ap, ret);
        if (!concat_valist(ret, PATH_JOIN_MAX, ap))
                ret[0] = '\0';
        va_end(ap);
        return ret;
}

int strv_push(char ***list, size_t *n, const char *s)
{
        size_t used = *n + 1; /* with the NULL */
        char **grown = *list;

        /* The block doubles: blocks of every size would stay in malloc's caches. */
        if (!grown || (used >= 4 && (used & (used - 1)) == 0))
                grown = reallocarray(*list, used < 4 ? 4 : 2 * used, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        *list = grown;
        grown[*n + 1] = NULL;
        grown[*n] = strdup(s);
        if (!grown[*n])
                return -ENOMEM;
        (*n)++;
        return 0;
}

void strv_free(char **list)
{
        for (char **s = list; s && *s; s++)
                free(*s);
        free(list);
}

/* Returns 0 if no character begins with this byte. */
static size_t utf8_length(unsigned char first)
{
        if (first < 0x80)
                return 1;
        if ((first & 0xe0) == 0xc0)
                return 2;
        if ((first & 0xf0) == 0xe0)
                return 3;
        if ((first & 0xf8) == 0xf0)
                return 4;
        return 0;
}

size_t utf8_decode(const char *s, uint32_t *ret)
{
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        const unsigned char *p = (const unsigned char *) s;
        size_t n = utf8_length(*p);
        uint32_t c = *p;

        if (n == 0)
                return 0;
        if (n > 1)
                c &= 0xffu >> (n + 1);
        for (size_t i = 1; i < n; i++) {
                if ((p[i] & 0xc0) != 0x80)
                        return 0;
                c = c << 6 | (p[i] & 0x3f);
        }
        if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
                return 0;
        *ret = c;
        return n;
}

/* Length of the well-formed, printable UTF-8 character at s, or 0. */
static size_t character_length(const unsigned char *s)
{
        uint32_t c;
        size_t n = utf8_decode((const char *) s, &c);

        if (n == 0)
                return 0;
        if (n == 1)
                return isprint(*s) && *s != '\\';
        /* C1 controls; soft hyphen; bidi and zero-width marks; line separators; BOM; interlinear;
         * tags */
        if (c < 0xa0 || c == 0xad || c == 0x061c || (c >= 0x200b && c <= 0x200f) ||
            (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
            (c >= 0xfff0 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff))
                return 0;
        /* Noncharacters: sd-bus refuses a string with one. */
        if ((c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe)
                return 0;
        return n;
}

char *make_harmless(const char *s, char *ret, size_t size)
{
        size_t used = 0;

        for (const unsigned char *p = (const unsigned char *) s; *p;) {
                size_t n = character_length(p);
                if (used + (n ?: 4) >= size)
                        break;
                if (n) {
                        memcpy(ret + used, p, n);
                        used += n;
                        p += n;
                } else
                        used += (size_t) snprintf(ret + used, size - used, "\\x%02x", *p++);
        }
        ret[used] = '\0';
        return ret;
}

unsigned hex_digit(char c)
{
        return (unsigned) (isdigit((unsigned char) c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

void unescape(char *s)
{
        char *out = s;

        while (*s) {
                /* Exactly two digits: a truncated value must not be read past its end. And a string
                 * cannot contain NUL. */
                bool escape = s[0] == '\\' && s[1] == 'x' && isxdigit((unsigned char) s[2]) &&
                              isxdigit((unsigned char) s[3]);
                unsigned c = 0;

                if (escape)
                        c = hex_digit(s[2]) << 4 | hex_digit(s[3]);
                if (c) {
                        *out++ = (char) c;
                        s += 4;
                } else
                        *out++ = *s++;
        }
        *out = '\0';
}

char *harmless_sentence(const char *s, char *ret, size_t size)
{
        char *to = make_harmless(s, ret, size);

        for (const char *from = ret; *from; to++)
                if (startswith(from, "\\x5c")) {
                        *to = '\\';
                        from += 4;
                } else
                        *to = *from++;
        *to = '\0';
        return ret;
}

int parse_uint(const char *s, unsigned base, unsigned long long max, unsigned long long *ret)
{
        unsigned long long v;
        char *end;

        if (!isxdigit((unsigned char) s[0]) || (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')))
                return -EINVAL; /* strtoull() accepts space, signs and 0x */
        errno = 0;
        v = strtoull(s, &end, (int) base);
        if (end == s || *end)
                return -EINVAL;
        if (errno == ERANGE || v > max)
                return -ERANGE;
        *ret = v;
        return 0;
}

int take_uint(const char **s, unsigned base, unsigned long long max, unsigned long long *ret)
{
        size_t n = strspn(*s, base == 16 ? "0123456789abcdefABCDEF" : "0123456789");
        char digits[32];
        int r;

        if (n >= sizeof(digits))
                return -EINVAL;
        *(char *) mempcpy(digits, *s, n) = '\0';
        r = parse_uint(digits, base, max, ret);
        if (r < 0)
                return r;
        *s += n;
        return 0;
}

bool parse_numbers(const char *s, char between, unsigned *ret, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                unsigned long long v;

                if (take_uint(&s, 10, UINT_MAX, &v) < 0 || *s++ != (i + 1 < n ? between : '\0'))
                        return false;
                ret[i] = (unsigned) v;
        }
        return true;
}
