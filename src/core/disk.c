/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/disk.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>

#include "common/sentence.h"
#include "common/util.h"

/* ---- its facts ---- */

void facts_bridge(const struct facts *f, struct bridge *ret)
{
        *ret = (struct bridge){
                .vid = f->vid,
                .pid = f->pid,
                .bcd = f->bcd,
                .speed_mbps = f->speed_mbps,
                .status_streams = f->caps.status_streams,
                .max_power = f->caps.max_power,
                .kernel = f->kernel,
                .manufacturer = f->manufacturer,
                .product = f->product,
        };
}

char *attachment_id_text(struct attachment_id id, char ret[static ATTACHMENT_ID_MAX])
{
        int n = snprintf(ret, ATTACHMENT_ID_MAX, "%u-%u", id.busnum, id.devnum);

        if (id.inode != 0)
                (void) snprintf(ret + n, (size_t) (ATTACHMENT_ID_MAX - n), "-%" PRIu64, id.inode);
        return ret;
}

bool attachment_id_parse(const char *s, struct attachment_id *ret)
{
        unsigned long long bus, dev, inode = 0;

        if (take_uint(&s, 10, UINT_MAX, &bus) < 0 || *s++ != '-' ||
            take_uint(&s, 10, UINT_MAX, &dev) < 0 || dev == 0)
                return false;
        if (*s && (*s++ != '-' || take_uint(&s, 10, UINT64_MAX, &inode) < 0 || *s))
                return false;
        *ret = (struct attachment_id){(unsigned) bus, (unsigned) dev, inode};
        return true;
}

char *facts_attachment(const struct facts *f, char ret[static ATTACHMENT_MAX])
{
        char id[ATTACHMENT_ID_MAX];

        (void) snprintf(ret, ATTACHMENT_MAX, "%s@%s", f->interface,
                        attachment_id_text(facts_attachment_id(f), id));
        return ret;
}

bool facts_twins(const struct facts *a, const struct facts *b)
{
        return a->vid == b->vid && a->pid == b->pid && streq(a->serial, b->serial) &&
               !streq(a->port, b->port);
}

void facts_copy_strings(const struct facts *from, struct facts *to)
{
        memcpy(to->manufacturer, from->manufacturer, sizeof(to->manufacturer));
        memcpy(to->product, from->product, sizeof(to->product));
        memcpy(to->serial, from->serial, sizeof(to->serial));
}

void serial_normalize(char *serial)
{
        const unsigned char *s = (const unsigned char *) serial;
        size_t n = strlen(serial);
        char *to = serial;

        while (n > 0 && strchr("\r\n", s[n - 1])) /* udev drops these from each attribute */
                n--;
        for (size_t i = 0; i < n; i++)
                if (s[i] < ' ' || s[i] > 0x7f || s[i] == ',')
                        n = 0;
        for (size_t i = 0; i < n; i++) {
                if (s[i] == ' ' && (to == serial || i + 1 == n || s[i + 1] == ' '))
                        continue;
                if (isalnum(s[i]) || strchr("#+-.:=@_", s[i]) || (s[i] == '\\' && s[i + 1] == 'x'))
                        *to++ = (char) s[i];
                else
                        *to++ = '_';
        }
        *to = '\0';
}

/* ---- names, LUNs and users ---- */

#define DIGITS "0123456789"

/* Only the first END counts: later text may be the name of a process that keeps the disk busy. */
bool outcome_take_line(struct outcome *o, const char *line)
{
        int end = 0;

        if (o->code >= 0)
                return false;
        if (sscanf(line, "END %i %23s %n", &o->code, o->step, &end) == 2 && end > 0) {
                (void) sentence_fill(line + end, o->text, sizeof(o->text));
                return false;
        }
        if (sscanf(line, "STEP %23s", o->step) != 1 &&
            sscanf(line, "CLAIMED %31s", o->claimed) != 1)
                (void) sscanf(line, "OPENED %31s", o->opened);
        return true;
}

/* "2-1.4:1.0" */
bool interface_name_valid(const char *name)
{
        static const char *const parts[] = {DIGITS, "-", "0123456789.", ":", DIGITS, ".", DIGITS};
        const char *p = name;

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                size_t n = strspn(p, parts[i]);

                if (n == 0 || (i % 2 == 1 && n > 1))
                        return false;
                p += n;
        }
        return !*p && p - name < INTERFACE_NAME_MAX;
}

bool interface_in_path(const char *path, char ret[static INTERFACE_NAME_MAX])
{
        bool found = false;

        while (*path) {
                size_t n = strcspn(path, "/");
                char part[INTERFACE_NAME_MAX];

                if (n < sizeof(part) && copy_part(part, sizeof(part), path, n) &&
                    interface_name_valid(part)) {
                        memcpy(ret, part, sizeof(part));
                        found = true;
                }
                path += n + (path[n] == '/');
        }
        return found;
}

void luns_free(struct lun *luns, size_t n)
{
        for (size_t i = 0; luns && i < n; i++)
                free(luns[i].parts);
        free(luns);
}

static void user_done(struct user *u)
{
        free(u->where);
        free(u->namespace);
        free(u->command);
        free(u->unit);
        free(u->via);
}

void users_free(struct user *users, size_t n)
{
        for (size_t i = 0; users && i < n; i++)
                user_done(&users[i]);
        free(users);
}

static void users_add_unnamed(struct user **users, size_t *n, enum user_kind kind, const char *node)
{
        struct user u = {.kind = kind};

        (void) copy_string(u.device, sizeof(u.device), node);
        (void) list_push(*users, *n, u);
}

void users_opened(struct user **users, size_t *n, const char *node)
{
        if (*n == 0)
                users_add_unnamed(users, n, USER_OPEN, node);
}

void users_without(struct user *users, size_t *n, pid_t ours)
{
        size_t kept = 0;

        for (size_t i = 0; i < *n; i++) {
                struct user u = users[i];

                if (ours > 0 && u.pid == ours) {
                        user_done(&u);
                        continue;
                }
                users[kept++] = u;
        }
        *n = kept;
}

bool user_is_udev(const struct user *u)
{
        return u->kind == USER_OPEN && u->command &&
               (streq(u->command, "(udev-worker)") || streq(u->command, "systemd-udevd")) &&
               (!u->unit || streq(u->unit, "systemd-udevd.service"));
}

void users_claimed(struct user **users, size_t *n, const char *node)
{
        bool named = false;

        for (size_t i = 0; i < *n; i++)
                if ((*users)[i].kind != USER_OPEN && (*users)[i].kind != USER_LOOP)
                        return;
        for (size_t i = 0; i < *n; i++)
                if ((*users)[i].kind == USER_OPEN && !startswith((*users)[i].device, "sg")) {
                        (*users)[i].kind = USER_CLAIM;
                        named = true;
                }
        if (!named)
                users_add_unnamed(users, n, USER_CLAIM, node);
}

void disk_done(struct disk *d)
{
        if (!d)
                return;
        luns_free(d->luns, d->n_luns);
        users_free(d->users, d->n_users);
        free(d->inhibited);
        *d = (struct disk){};
}

const struct block *lun_next_node(const struct lun *l, const struct block *b)
{
        size_t part = 0;

        if (!b && l->disk.name[0])
                return &l->disk;
        if (!b)
                return NULL;
        if (b != &l->disk)
                part = (size_t) (b - l->parts) + 1;
        return part < l->n_parts ? l->parts + part : NULL;
}

const struct block *luns_find(const struct lun *luns, size_t n, const char *name)
{
        for (size_t i = 0; i < n; i++)
                FOREACH_NODE (b, luns + i)
                        if (streq(b->name, name))
                                return b;
        return NULL;
}

bool luns_have(const struct lun *luns, size_t n, unsigned major, unsigned minor,
               const char **ret_name)
{
        for (size_t i = 0; i < n; i++)
                FOREACH_NODE (b, luns + i) {
                        if (b->major != major || b->minor != minor)
                                continue;
                        if (ret_name)
                                *ret_name = b->name;
                        return true;
                }
        return false;
}

/* The types that sd and sr drive (scsi_proto.h): disk, WORM, CD-ROM, optical memory, simplified
 * disk, zoned disk. */
bool lun_awaited(const struct lun *l)
{
        unsigned type = l->scsi_type;

        return !l->disk.name[0] && (type == 0x00 || type == 0x04 || type == 0x05 || type == 0x07 ||
                                    type == 0x0e || type == 0x14);
}

size_t luns_with_disk(const struct lun *luns, size_t n)
{
        size_t found = 0;

        for (size_t i = 0; i < n; i++)
                found += luns[i].disk.name[0] != '\0';
        return found;
}

uint64_t disk_size(const struct disk *d)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < d->n_luns; i++)
                sum += d->luns[i].size;
        return sum;
}

char *luns_names(const struct lun *luns, size_t n, char *ret, size_t size)
{
        ret[0] = '\0';
        for (size_t i = 0; i < n && strlen(ret) + BLOCK_NAME_MAX + 2 < size; i++)
                if (luns[i].disk.name[0])
                        text_add(ret, size, "%s%s", *ret ? " " : "", luns[i].disk.name);
        return ret;
}

bool luns_same(const struct lun *a, size_t n_a, const struct lun *b, size_t n_b)
{
        if (n_a != n_b)
                return false;
        for (size_t i = 0; i < n_a; i++) {
                if (!streq(a[i].scsi, b[i].scsi) || !streq(a[i].disk.name, b[i].disk.name) ||
                    a[i].size != b[i].size || a[i].diskseq != b[i].diskseq ||
                    a[i].n_parts != b[i].n_parts)
                        return false;
                for (size_t j = 0; j < a[i].n_parts; j++)
                        if (!luns_have(b + i, 1, a[i].parts[j].major, a[i].parts[j].minor, NULL))
                                return false;
        }
        return true;
}
