/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/measure/subject.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "bench/measure/fio.h"
#include "client/client.h"
#include "common/log.h"
#include "common/util.h"
#include "core/policy.h"
#include "sys/state/attachment.h"
#include "term/terminal.h"

void subject_done(struct subject *s)
{
        lease_end(s);
        (void) close_keep_errno(s->scratch);
        remount_done(&s->remount);
        strv_free(s->hosts);
        free(s->path);
        views_done(&s->views);
        remote_close(&s->remote);
        *s = SUBJECT_NULL;
}

/* Takes the LUN with that name, or else the first one with a disk. Returns its size in bytes; 0: there is none. */
static uint64_t take_disk(struct subject *s, const char *what)
{
        _cleanup_free_ char *node = *what == '/' ? realpath(what, NULL) : NULL; /* a link by id names one LUN, too */
        const char *slash = strrchr(node ?: what, '/'), *name = slash ? slash + 1 : what;
        const struct disk *d = &s->view->disk;
        const struct lun *found = NULL;

        for (size_t i = 0; i < d->n_luns; i++) {
                const struct lun *l = &d->luns[i];

                if (l->disk.name[0] && l->size > 0 && l->scsi_type != 5 && (!found || streq(l->disk.name, name)))
                        found = l;
        }
        if (!found)
                return 0;
        s->lun = found->lun;
        s->named = streq(found->disk.name, name) || luns_with_disk(d->luns, d->n_luns) == 1;
        s->interface = d->facts.interface;
        s->driver = d->facts.driver;
        (void) attachment_now(&s->context->client.roots, s->interface, &s->attachment);
        (void) copy_string(s->block, sizeof(s->block), found->disk.name);
        return found->size;
}

/* The serial number, which the user types, is that of all LUNs. */
static int look_at_name(const struct subject *s)
{
        const struct disk *d = &s->view->disk;
        char names[256];

        if (!s->writes || s->named)
                return UASD_EXIT_OK;
        return log_failure(UASD_EXIT_USAGE, "%s has several disks (%s). Name the one that is to be overwritten, as in /dev/%s.",
                           VIEW_LABEL(s->view), luns_names(d->luns, d->n_luns, names, sizeof(names)), s->block);
}

static int tell_users(const struct view *v)
{
        char text[512];

        log_error("%s is in use. Only an unused disk can be measured:", VIEW_LABEL(v));
        for (size_t i = 0; i < v->disk.n_users; i++)
                log_error("  %s", user_text(&v->disk.users[i], text, sizeof(text)));
        log_info("Unmount it, or measure through its file system: --file=PATH.");
        return UASD_EXIT_REFUSED;
}

/* Selects the drivers and their order. The present driver comes first; with A B B A it is also the last one. */
static int choose_drivers(struct subject *s)
{
        enum driver now = s->view->disk.facts.driver, only = s->context->options->driver;

        if (now != DRIVER_UAS && now != DRIVER_USB_STORAGE)
                return log_failure(UASD_EXIT_FAILED, "%s: cannot be measured on %s.", VIEW_LABEL(s->view),
                                   view_driver(s->view) ?: "no driver");
        if (!view_capable(s->view) && only != now)
                return log_failure(
                        UASD_EXIT_INCAPABLE,
                        "%s: cannot be compared, since it does not offer both drivers. --driver=%s measures the present one.",
                        VIEW_LABEL(s->view), driver_to_string(now));
        s->first = only != DRIVER_NONE ? only : now;
        s->second = only != DRIVER_NONE ? DRIVER_NONE : now == DRIVER_UAS ? DRIVER_USB_STORAGE : DRIVER_UAS;
        return UASD_EXIT_OK;
}

/* Checks by the kernel's facts whether the daemon would refuse the switch, before half of the time is spent. */
static int look_at_switch(const struct subject *s)
{
        enum driver to = s->second != DRIVER_NONE ? s->second : s->first;
        _cleanup_(views_done) struct views views = {};
        const struct view *v;
        struct plan plan;

        if (to == s->driver || local_read(&s->context->client.roots, false, &views) < 0)
                return UASD_EXIT_OK;
        v = views_find(&views, s->interface);
        if (!v)
                return UASD_EXIT_OK;
        plan_switch(v, to, false, &plan);
        if (plan.code != UASD_EXIT_REFUSED && plan.code != UASD_EXIT_INCAPABLE)
                return UASD_EXIT_OK;
        log_error("%s: would not be switched to %s. %s", VIEW_LABEL(s->view), driver_to_string(to),
                  reason_sentence(plan.decision.reason));
        log_info("--driver=%s measures the present driver.", driver_to_string(s->driver));
        return plan.code;
}

static int look_at_node(const struct subject *s)
{
        if (faccessat(s->context->client.roots.dev, s->block, s->writes ? R_OK | W_OK : R_OK, AT_EACCESS) == 0)
                return UASD_EXIT_OK;
        if (errno == EACCES || errno == EPERM)
                return log_failure(UASD_EXIT_UNAUTHORIZED, "Not permitted: only root may %s /dev/%s.",
                                   s->writes ? "write to" : "read", s->block);
        return log_failure(UASD_EXIT_FAILED, "Cannot open /dev/%s: %s", s->block, strerror(errno));
}

int find_disk(struct subject *s, const char *what)
{
        int code = source_connect_disk(&s->context->client, what, &s->remote, &s->views, &s->view);

        if (code != UASD_EXIT_OK)
                return code;
        s->available = take_disk(s, what);
        if (s->available == 0)
                return log_failure(UASD_EXIT_FAILED, "%s: has no disk.", VIEW_LABEL(s->view));
        s->writes = s->context->options->destroy_data;
        code = look_at_name(s);
        if (code == UASD_EXIT_OK)
                code = choose_drivers(s);
        if (code == UASD_EXIT_OK && s->view->disk.n_users > 0)
                code = tell_users(s->view);
        if (code == UASD_EXIT_OK)
                code = look_at_switch(s);
        if (code == UASD_EXIT_OK)
                code = look_at_node(s);
        return code;
}

static int take_scratch(struct subject *s)
{
        s->available = s->context->options->size ?: SCRATCH_SIZE;
        s->writes = s->lay_out = true;
        return UASD_EXIT_OK;
}

static int look_at_path(struct subject *s, struct stat *ret)
{
        const struct bench_options *o = s->context->options;
        const char *path = o->file;

        if (stat(path, ret) < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot open '%s': %s", path, strerror(errno));
        if (S_ISDIR(ret->st_mode) && o->write)
                return take_scratch(s);
        if (S_ISDIR(ret->st_mode))
                return log_failure(UASD_EXIT_USAGE, "'%s' is a directory. Name a file, or add --write for a scratch file in it.",
                                   path);
        if (!S_ISREG(ret->st_mode))
                return log_failure(UASD_EXIT_USAGE, "'%s' is neither a file nor a directory. A disk is measured without --file.",
                                   path);
        if (o->write)
                return log_failure(UASD_EXIT_REFUSED,
                                   "'%s' is a file, and --write never writes to an existing one. Name a directory.", path);
        if (ret->st_size == 0)
                return log_failure(UASD_EXIT_FAILED, "'%s' is empty.", path);
        s->available = (uint64_t) ret->st_size;
        return UASD_EXIT_OK;
}

/* The servers see the file. size: of the file on this machine, or 0 if it is not there. */
static int look_at_clients(struct subject *s, off_t size)
{
        const struct bench_options *o = s->context->options;

        if (hosts_parse(o->clients, &s->hosts) < 0)
                return log_failure(UASD_EXIT_USAGE, "--clients=%s: it takes hosts that run 'fio --server', HOST[:PORT],...",
                                   o->clients);
        if (!hosts_path_ok(o->file))
                return log_failure(
                        UASD_EXIT_USAGE,
                        "--file=%s: with --clients it takes an absolute path, as the servers see it, without ; # $, double quotes, "
                        "backslashes, and blanks at its end.",
                        o->file);
        if (o->write)
                return take_scratch(s);
        s->available = o->size ?: (uint64_t) size;
        if (s->available > 0)
                return UASD_EXIT_OK;
        return log_failure(UASD_EXIT_USAGE, "The size of '%s' is not known here. Add --size=SIZE.", o->file);
}

/* The user names the disk, and the result is stored under its name. So the disk is refused only if it is known to be wrong. */
static int find_named_disk(struct subject *s, const char *what, const struct view *const *below, int n, bool known,
                           const struct view *only)
{
        bool asked = false;
        int code;

        code = source_read(&s->context->client, DETAIL_NO_USERS, &s->views);
        if (code == UASD_EXIT_OK)
                code = source_select(&s->context->client, &s->views, what, &s->view);
        if (code != UASD_EXIT_OK)
                return code;
        for (int i = 0; i < n; i++)
                asked = asked || streq(below[i]->disk.facts.interface, s->view->disk.facts.interface);
        if (!known || asked)
                return UASD_EXIT_OK;
        log_error("'%s' is not on %s but on %s.", s->context->options->file, VIEW_LABEL(s->view),
                  only ? VIEW_LABEL(only) : "another disk");
        log_info(s->context->options->clients ? "Omit the disk: the result then names none."
                                              : "Omit the disk: uasctl then finds it.");
        return UASD_EXIT_USAGE;
}

/* The file may be on any file system. Its disk is needed only for the record. */
int find_file(struct subject *s, const char *what)
{
        const struct bench_options *o = s->context->options;
        const struct roots *r = &s->context->client.roots;
        _cleanup_(views_done) struct views views = {};
        _cleanup_free_ const struct view **below = NULL;
        bool seen = true, read, known = false, others = false;
        const struct view *only;
        struct stat st = {};
        int n = 0, code;

        s->path = need(strdup(o->file));
        /* With --clients the file may exist only on other machines. If this machine sees it, it is the same file. */
        if (o->clients)
                seen = stat(o->file, &st) == 0 && S_ISREG(st.st_mode);
        code = o->clients ? look_at_clients(s, seen ? st.st_size : 0) : look_at_path(s, &st);
        if (code != UASD_EXIT_OK)
                return code;
        /* Only the kernel knows the partition of a file system. uasd names only whole disks. */
        read = local_read(r, false, &views) >= 0;
        below = need(calloc(views.n + 1, sizeof(*below)));
        if (read && (what ? seen : !o->clients))
                n = select_below(r, &views, st.st_dev, below, &known, &others);
        only = n == 1 && known && !others ? below[0] : NULL; /* several have several links, drivers and queues */
        if (what)
                code = find_named_disk(s, what, below, n, known, only);
        else if (only) {
                s->view = only;
                s->views = TAKE_STRUCT(views);
        } else if (read && (!known || n > 0))
                log_info("The file is on an unknown disk, or on more than one. Name a disk to get its link, driver and errors.");
        if (code == UASD_EXIT_OK && s->view)
                (void) take_disk(s, what ?: "");
        s->first = s->driver;
        return code;
}

int find_mounted(struct subject *s, const char *what)
{
        _cleanup_(views_done) struct views kernel = {};
        const struct view *v = NULL, *asked = NULL;
        const char *name = NULL;
        struct stat st;
        int code;

        if (geteuid() != 0)
                return log_failure(UASD_EXIT_UNAUTHORIZED, "Not permitted: only root may unmount a file system.");
        code = look_at_path(s, &st);
        if (code == UASD_EXIT_OK)
                code = source_connect(&s->context->client, &s->remote, &s->views);
        if (code == UASD_EXIT_OK)
                code = source_local(&s->context->client, false, &kernel);
        if (code == UASD_EXIT_OK)
                code = remount_find(s->context->options->file, &kernel, &s->remount, &v, &name);
        if (code == UASD_EXIT_OK && what)
                code = source_select(&s->context->client, &s->views, what, &asked);
        if (code != UASD_EXIT_OK)
                return code;
        s->view = views_find(&s->views, v->disk.facts.interface);
        if (!s->view || (asked && asked != s->view))
                return log_failure(UASD_EXIT_USAGE, "'%s' is not on %s but on %s.", s->context->options->file,
                                   asked ? VIEW_LABEL(asked) : "a disk of uasd", VIEW_LABEL(v));
        if (!remount_is_alone(&s->remount, s->view))
                return UASD_EXIT_REFUSED;
        s->path = need(strdup(s->context->options->file));
        (void) take_disk(s, name);
        s->remounts = true;
        code = choose_drivers(s);
        return code == UASD_EXIT_OK ? look_at_switch(s) : code;
}

bool ask_destroy(const struct subject *s)
{
        const struct view *v = s->view;
        const struct facts *f = &v->disk.facts;
        const char *expected = f->serial[0] ? f->serial : f->interface;
        char product[2 * USB_STRING_MAX], harmless[4 * USB_STRING_MAX];
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        (void) make_harmless(view_product(v, product, sizeof(product)), harmless, sizeof(harmless));
        log_warning("%s, %s: everything on /dev/%s will be overwritten.", VIEW_LABEL(v), harmless, s->block);
        if (isatty(STDIN_FILENO)) {
                (void) make_harmless(expected, harmless, sizeof(harmless));
                (void) fprintf(stderr, "To go on, type its %s (%s): ", f->serial[0] ? "serial number" : "interface", harmless);
                (void) fflush(stderr);
        }
        if (getline(&line, &size, stdin) >= 0) {
                line[strcspn(line, "\n")] = '\0';
                if (streq(line, expected))
                        return true;
        }
        return log_failure(false, "Wrong %s: nothing has been written.", f->serial[0] ? "serial number" : "interface");
}

/* ---- scratch files ---- */

#define NAME ".uasctl-bench-XXXXXX"

/* A twentieth of the free space stays free, because a full file system does harm. */
#define KEEP_FREE_PART 20

static int free_space(const char *directory, uint64_t *ret)
{
        struct statvfs s;

        if (statvfs(directory, &s) < 0)
                return -errno;
        *ret = (uint64_t) s.f_bavail * s.f_frsize;
        return 0;
}

uint64_t scratch_fitting(const char *directory, uint64_t wanted, uint64_t least)
{
        uint64_t space = 0;

        if (wanted <= least || free_space(directory, &space) < 0 || space / 2 < least)
                return least;
        return wanted < space / 2 ? wanted : space / 2;
}

/* Without O_TMPFILE, the file loses its name at once. */
static int open_nameless(const char *directory)
{
        _cleanup_close_ int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        _cleanup_free_ char *path = NULL;

        if (fd >= 0)
                return TAKE_FD(fd);
        if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
                return -errno;
        if (asprintf(&path, "%s/" NAME, directory) < 0)
                return -ENOMEM;
        fd = mkostemp(path, O_CLOEXEC);
        return fd < 0 || unlink(path) < 0 ? -errno : TAKE_FD(fd);
}

int scratch_make(const char *directory, uint64_t size, uint64_t *ret_free)
{
        _cleanup_close_ int fd = -1;
        int r = free_space(directory, ret_free);

        if (r < 0)
                return r;
        if (size > *ret_free - *ret_free / KEEP_FREE_PART)
                return -ENOSPC;
        fd = open_nameless(directory);
        if (fd < 0)
                return fd;
        return ftruncate(fd, (off_t) size) < 0 ? -errno : TAKE_FD(fd);
}

void size_scratch(struct subject *s, const struct profile *profile)
{
        const struct bench_options *o = s->context->options;
        uint64_t wanted = 0;

        if (!s->lay_out || o->size)
                return;
        for (size_t i = 0; i < profile->n_patterns; i++) {
                const struct bench_pattern *p = &profile->patterns[i];
                uint64_t asked = p->size <= UINT64_MAX / p->numjobs ? p->size * p->numjobs : UINT64_MAX;

                if (asked > wanted && pattern_is_asked_for(o, p))
                        wanted = asked;
        }
        s->available = scratch_fitting(o->file, wanted, SCRATCH_SIZE);
}

int make_scratch(struct subject *s)
{
        const char *directory = s->context->options->file;
        char wanted[32], there[32];
        uint64_t room = 0;

        s->scratch = scratch_make(directory, s->available, &room);
        if (s->scratch == -ENOSPC)
                return log_failure(
                        UASD_EXIT_FAILED,
                        "Cannot make a scratch file of %s in '%s': %s are free, and a twentieth stays free. --size= limits it.",
                        size_text(s->available, wanted, sizeof(wanted)), directory, size_text(room, there, sizeof(there)));
        if (s->scratch < 0)
                return log_failure(UASD_EXIT_FAILED, "Cannot make a scratch file in '%s': %s", directory, strerror(-s->scratch));
        free(s->path);
        if (asprintf(&s->path, "/proc/%i/fd/%i", getpid(), s->scratch) < 0) /* fio opens it through our descriptor */
                no_memory();
        return UASD_EXIT_OK;
}
