/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/block/claim.h"

#include <blkid/blkid.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "common/util.h"

#define SAMPLE 131072            /* bytes read at either end */
#define UNREAD "_UNREAD=1"       /* the rest of this LUN is unknown */
#define PROTECTED "_PROTECTED=1" /* it cannot be written */

static void probe_freep(blkid_probe *p)
{
        blkid_free_probe(*p);
}

/*
 * FNV-1a, of words as long as there are any. The product carries a difference only upwards, so the
 * upper half is mixed into the lower one: otherwise two differences in the highest bit would cancel
 * each other.
 */
static uint64_t fnv1a(const unsigned char *p, size_t n)
{
        uint64_t h = 0xcbf29ce484222325ULL, word;

        for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
                memcpy(&word, p, sizeof(word));
                h = (h ^ word) * 0x100000001b3ULL;
                h ^= h >> 32;
        }
        while (n--)
                h = (h ^ *p++) * 0x100000001b3ULL;
        return h;
}

/* The LUN that is read, and where. */
struct source {
        int fd;
        unsigned lun;
        struct unread *unread;
};

static int source_read_range(const struct source *s, unsigned char *buffer, size_t want,
                             uint64_t offset)
{
        for (size_t done = 0; done < want;) {
                ssize_t n;

                s->unread->at[0] = offset + done;
                s->unread->n = 1;
                n = TEMP_FAILURE_RETRY(
                        pread(s->fd, buffer + done, want - done, (off_t) (offset + done)));
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return -EIO; /* shorter than its size */
                done += (size_t) n;
        }
        s->unread->n = 0;
        return 0;
}

/*
 * Writes the first and the last bytes of a range. Each takes one command, if the disk takes as much
 * at once. There most file systems, RAID and LUKS keep their names: that of btrfs is at 64 KiB, and
 * that of an old RAID up to 128 KiB before the end. UDF and VMFS keep theirs elsewhere.
 */
static int source_sample(const struct source *s, uint64_t offset, uint64_t size, const char *where,
                         FILE *out)
{
        _cleanup_free_ unsigned char *buffer = malloc(SAMPLE);
        size_t n = size < SAMPLE ? (size_t) size : SAMPLE;
        int r;

        if (!buffer)
                return -ENOMEM;
        r = source_read_range(s, buffer, n, offset);
        if (r < 0)
                return r;
        (void) fprintf(out, "%s_HEAD=%016llx\n", where, (unsigned long long) fnv1a(buffer, n));
        if (n < size) {
                r = source_read_range(s, buffer, n, offset + size - n);
                if (r < 0)
                        return r;
        }
        (void) fprintf(out, "%s_TAIL=%016llx\n", where, (unsigned long long) fnv1a(buffer, n));
        return 0;
}

static int source_partitions(const struct source *s, blkid_probe whole, uint64_t size, FILE *out)
{
        blkid_partlist list = blkid_probe_get_partitions(whole);
        int n;

        if (!list)
                return 0;
        n = blkid_partlist_numof_partitions(list);
        for (int i = 0; i < n; i++) {
                blkid_partition part = blkid_partlist_get_partition(list, i);
                uint64_t start = (uint64_t) blkid_partition_get_start(part) * 512,
                         length = (uint64_t) blkid_partition_get_size(part) * 512;
                char where[40];
                int r;

                (void) snprintf(where, sizeof(where), "LUN%u_PART%i", s->lun,
                                blkid_partition_get_partno(part));
                (void) fprintf(out, "%s_RANGE=%llu+%llu\n", where, (unsigned long long) start,
                               (unsigned long long) length);
                if (blkid_partition_is_extended(part) || start >= size)
                        continue;
                /* The table of a striped RAID is that of all its disks. */
                r = source_sample(s, start, length < size - start ? length : size - start, where,
                                  out);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Writes the partition table and samples of each partition. */
static int source_read_table(const struct source *s, uint64_t size, FILE *out)
{
        static const char *const names[] = {"PTTYPE", "PTUUID"};
        _cleanup_(probe_freep) blkid_probe p = blkid_new_probe();

        if (!p)
                return -ENOMEM;
        if (blkid_probe_set_device(p, s->fd, 0, (blkid_loff_t) size) < 0)
                return -EIO;
        /* libblkid reads dozens of places to name a file system. The samples contain those. */
        (void) blkid_probe_enable_superblocks(p, 0);
        (void) blkid_probe_enable_partitions(p, 1);
        (void) blkid_probe_set_partitions_flags(p, BLKID_PARTS_ENTRY_DETAILS);
        /* libblkid may take data that it cannot read for unknown data. */
        errno = 0;
        if (blkid_do_safeprobe(p) != 0 && errno == EIO)
                return -EIO;
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const char *value;

                if (blkid_probe_lookup_value(p, names[i], &value, NULL) == 0)
                        (void) fprintf(out, "LUN%u_%s=%s\n", s->lun, names[i], value);
        }
        return source_partitions(s, p, size, out);
}

static int source_read_lun(const struct source *s, bool partly, FILE *out)
{
        const int fd = s->fd;
        const unsigned lun = s->lun;
        _cleanup_free_ char *text = NULL;
        char where[16];
        size_t length;
        FILE *contents;
        uint64_t size;
        int sector, ro, r;

        /* A write through a partition's node goes to another page cache. So earlier pages of this
         * node may be old. */
        (void) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        (void) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* no readahead past a sample */
        if (ioctl(fd, BLKGETSIZE64, &size) < 0 || ioctl(fd, BLKSSZGET, &sector) < 0 ||
            ioctl(fd, BLKROGET, &ro) < 0)
                return -errno;
        if (size ==
            0) { /* an empty slot: a card that is put in meanwhile does not make it another disk */
                (void) fprintf(out, "LUN%u" UNREAD "\n", lun);
                return 0;
        }
        (void) fprintf(out, "LUN%u_SIZE=%llu\nLUN%u_SECTOR=%i\n", lun, (unsigned long long) size,
                       lun, sector);
        if (ro)
                (void) fprintf(out, "LUN%u" PROTECTED "\n", lun);
        contents = open_memstream(&text, &length);
        if (!contents)
                return -errno;
        (void) snprintf(where, sizeof(where), "LUN%u", lun);
        r = source_sample(s, 0, size, where, contents);
        if (r == 0)
                r = source_read_table(s, size, contents);
        if (fclose(contents) < 0)
                return -ENOMEM;
        if (r == -EIO && partly) {
                (void) fprintf(out, "LUN%u" UNREAD "\n", lun);
                return 0;
        }
        if (r < 0)
                return r;
        (void) fputs(text, out);
        return 0;
}

static int fingerprint_write(const struct claim *c, bool partly, struct unread *u, FILE *out)
{
        for (size_t i = 0; i < c->n; i++) {
                int r;

                if (!c->nodes[i].whole)
                        continue;
                u->lun = c->nodes[i].lun;
                r = source_read_lun(&(struct source){c->nodes[i].fd, u->lun, u}, partly, out);
                if (r < 0)
                        return r;
        }
        return 0;
}

int fingerprint_read(const struct claim *c, bool partly, char **ret, struct unread *u)
{
        struct unread unread = {};
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        int r;

        if (!out)
                return -errno;
        u = u ?: &unread;
        u->samples = true;
        r = fingerprint_write(c, partly, u, out);
        if (fclose(out) < 0 && r >= 0)
                r = -ENOMEM;
        if (r < 0)
                return r;
        u->samples = false;
        *ret = TAKE_PTR(text);
        return 0;
}

/* Compares the prefix of the lines of a LUN, "LUN3_". */
static bool line_same_lun(const char *line, const char *other)
{
        size_t n = strcspn(line, "_\n");

        return *line && strncmp(line, other, n) == 0 && other[n] == '_';
}

bool fingerprint_same_sizes(const char *before, const char *after)
{
        for (const char *line = before; *line; line = next_line(line)) {
                size_t key = strcspn(line, "=\n") + 1, length = strcspn(line, "\n");

                const char *what = line + strcspn(line, "_\n");

                if (!startswith(what, "_SIZE=") && !startswith(what, "_SECTOR="))
                        continue;
                for (const char *now = after; *now; now = next_line(now))
                        if (strncmp(line, now, key) == 0 &&
                            (strcspn(now, "\n") != length || strncmp(line, now, length) != 0))
                                return false;
        }
        return true;
}

/* Returns true if the line of a LUN says this. */
static bool line_says(const char *line, const char *what)
{
        const char *rest = startswith(line + strcspn(line, "_\n"), what);

        return rest && *rest == '\n';
}

/* Returns the text for a person, and its length. */
static const char *line_or_nothing(const char *line, int *ret_length)
{
        static const char nothing[] = "nothing";

        if (*line && *line != '\n') {
                *ret_length = (int) strcspn(line, "\n");
                return line;
        }
        *ret_length = sizeof(nothing) - 1;
        return nothing;
}

bool fingerprint_same(const char *before, const char *after, char *ret, size_t size)
{
        while (*before || *after) {
                size_t length = strcspn(before, "\n");

                /* The new disk may be writable: blockdev(8) can protect it, until it gets another
                 * block device. */
                if (line_says(before, PROTECTED)) {
                        if (line_says(after, PROTECTED))
                                after = next_line(after);
                        before = next_line(before);
                        continue;
                }
                if (line_says(before, UNREAD)) {
                        while (line_same_lun(after, before))
                                after = next_line(after);
                        before = next_line(before);
                        continue;
                }
                if (length != strcspn(after, "\n") || strncmp(before, after, length) != 0) {
                        int a, b;
                        const char *old = line_or_nothing(before, &a),
                                   *now = line_or_nothing(after, &b);

                        (void) snprintf(ret, size, "before %.*s, now %.*s", a, old, b, now);
                        return false;
                }
                before = next_line(before);
                after = next_line(after);
        }
        return true;
}
