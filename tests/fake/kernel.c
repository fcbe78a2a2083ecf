/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <fcntl.h>

#include "common/names.h"
#include "common/util.h"
#include "fake.h"
#include "sys/io/sysfs.h"
#include "sys/state/attachment.h"

/*
 * The reactions. Each names the origin of the fact. "k" was read in the kernel's source, and "v"
 * was measured in a guest, with the number of the note. REACTIONS lists them by name;
 * tests/vm/cases/reactions_*.py compare them with the kernel. The code that chooses a driver
 * follows the kernel and uses nothing of src/core.
 */

#define UAS_SCAN_USEC (20 * USEC_PER_MSEC) /* v b: 6..30 ms */
#define DELAY_USE_USEC (1 * USEC_PER_SEC)  /* v b */
#define BIND_USEC (30 * USEC_PER_MSEC)     /* v b */
#define UNBIND_USEC (80 * USEC_PER_MSEC)   /* v b */
#define DELETE_WAITS_USEC 600              /* real time, in which a thread of uasd-switch can act */

static struct fake_usb *find_usb(const char *interface)
{
        for (unsigned i = 0; i < fake->n_usb; i++)
                if (fake->usb[i].plugged && streq(fake->usb[i].interface, interface))
                        return &fake->usb[i];
        return NULL;
}

struct fake_node *kernel_node(const char *name, struct fake_usb **ret_usb,
                              struct fake_lun **ret_lun)
{
        for (unsigned i = 0; i < fake->n_usb; i++)
                for (unsigned k = 0; k < fake->usb[i].n_luns; k++) {
                        struct fake_lun *l = &fake->usb[i].luns[k];

                        for (unsigned n = 0; l->there && n < l->n_nodes; n++)
                                if (streq(l->nodes[n].name, name)) {
                                        if (ret_usb)
                                                *ret_usb = &fake->usb[i];
                                        if (ret_lun)
                                                *ret_lun = l;
                                        return &l->nodes[n];
                                }
                }
        return NULL;
}

/* ---- data ---- */

/* Whether uasd-switch could have noticed what the hook did: it has looked for users since. */
static bool had_a_chance(void)
{
        for (unsigned i = fake->opened_at; fake->opened_at && i < fake->n_ops; i++)
                if (streq(fake->ops[i], fake->unwatched ? "count" : "disturbed") ||
                    streq(fake->ops[i], "users deep"))
                        return true;
        return false;
}

/* loses_page_cache (k 3.3): neither driver writes dirty pages back when a LUN goes, nor does
 * `delete`. */
static void loses_page_cache(struct fake_lun *l)
{
        for (unsigned i = 0; i < l->n_nodes; i++) {
                if (!fake->written_late || had_a_chance())
                        fake->lost += l->nodes[i].dirty;
                l->nodes[i].dirty = 0;
        }
}

/* flushes_drive (k 3.3, v 14 and q): while the transport works, sd's last SYNCHRONIZE CACHE reaches
 * the drive. */
static void flushes_drive(struct fake_lun *l)
{
        l->platter += l->cache;
        l->cache = 0;
}

/* uas_cannot_flush (v 1): at the unbind of uas every command fails before sd is removed. */
static void uas_cannot_flush(struct fake_lun *l)
{
        fake->at_risk += l->cache;
}

/* fsync_does_both (k 3.3): writes the page cache of that node only, and then the drive's cache. */
int kernel_fsync(const char *node)
{
        struct fake_usb *u;
        struct fake_lun *l;
        struct fake_node *n = kernel_node(node, &u, &l);

        if (!n)
                return -EIO;
        if (u->pulled || l->offline)
                return -EIO;
        l->cache += n->dirty;
        n->dirty = 0;
        flushes_drive(l);
        return 0;
}

void kernel_write_bytes(const char *node, unsigned n)
{
        struct fake_node *b = kernel_node(node, NULL, NULL);

        if (b)
                b->dirty += n;
}

/* last_close_writes_back (block/bdev.c:blkdev_put): the last close of a node writes its page cache
 * to the drive. */
void kernel_last_close(const char *node)
{
        struct fake_lun *l;
        struct fake_node *n = kernel_node(node, NULL, &l);

        if (n) {
                l->cache += n->dirty;
                n->dirty = 0;
        }
}

/* ---- LUNs ---- */

/* letter_of_last_close (k 4, v 7): a letter is free again when the last descriptor of the old disk
 * is closed.
 */
static int letter_of_last_close(void)
{
        for (int letter = 0;; letter++) {
                bool taken = fake_stale(letter) || udev_has_open(letter);

                for (unsigned i = 0; i < fake->n_usb && !taken; i++)
                        for (unsigned k = 0; k < FAKE_LUNS && !taken; k++)
                                taken = fake->usb[i].luns[k].there &&
                                        fake->usb[i].luns[k].letter == letter;
                if (!taken)
                        return letter;
        }
}

void fake_facts(const struct fake_usb *u, struct facts *ret)
{
        struct attachment_id id = {};

        (void) attachment_now(&fake->roots, u->interface, &id);
        *ret = (struct facts){.busnum = u->bus, .devnum = u->dev, .inode = id.inode};
        (void) copy_string(ret->interface, sizeof(ret->interface), u->interface);
}

/* rule_holds (DESIGN, the hold): the question of the udev helper at every block event. */
bool rule_holds(const struct fake_usb *u)
{
        struct facts f;

        fake_facts(u, &f);
        return hold_in_force(&fake->roots, &f, fake->clock, NULL);
}

void kernel_names(struct fake_lun *l, unsigned n_nodes)
{
        l->n_nodes = n_nodes;
        for (unsigned i = 0; i < n_nodes; i++) {
                struct fake_node *n = &l->nodes[i];

                *n = (struct fake_node){.minor = (unsigned) l->letter * 16 + i};
                (void) snprintf(n->name, sizeof(n->name), i ? "sd%c%u" : "sd%c", 'a' + l->letter,
                                i);
        }
}

static void block_appears(struct fake_usb *u, unsigned lun)
{
        struct fake_lun *l = &u->luns[lun];

        l->there = true;
        l->probing = false;
        l->diskseq = ++fake->diskseq;
        l->empty = l->empty && !l->card;
        l->card = false;
        kernel_names(l, l->empty ? 1 : u->n_parts + 1);
        tree_lun(u, lun);
        udev_adds(u, l);
}

/*
 * disk_comes_late (drivers/scsi/sd.c:sd_probe, sd_spinup_disk): the probe waits for a disk that is
 * not ready. Until then its SCSI device exists with its driver, and its block device does not.
 */
static void lun_appears(struct fake_usb *u, unsigned lun)
{
        struct fake_lun *l = &u->luns[lun];

        l->letter = letter_of_last_close();
        l->probing = l->type == 0 && !l->declined;
        if (!l->probing || u->spun_at > fake->clock) {
                l->n_nodes = 0;
                tree_scsi(u, lun);
        } else
                block_appears(u, lun);
}

static bool lun_found(const struct fake_usb *u, unsigned lun)
{
        return tree_exists("sys/bus/scsi/devices/%i:0:0:%u", u->host, lun);
}

/* not_refused (k 3.3, 3.4, v d): a mount prevents neither an unbind nor a delete. Such a mount
 * would be destroyed, which breaks the first oath. */
static void not_refused(const struct fake_lun *l)
{
        for (unsigned i = 0; i < l->n_nodes; i++)
                if (l->nodes[i].mounted)
                        fake_break("pulled from under a mount:", l->nodes[i].name);
        if (fake->someone && fake->someones == l->diskseq && had_a_chance())
                fake_break("pulled from under an open:", l->nodes[0].name);
}

/* A block device that no process has claimed may be mounted at any moment. One that is offline
 * cannot be opened. */
static void not_unclaimed(const struct fake_lun *l)
{
        if (fake->switcher && !l->offline && !fake_claims(l->nodes[0].name))
                fake_break("removed without a claim:", l->nodes[0].name);
}

static void lun_goes(struct fake_usb *u, unsigned lun)
{
        struct fake_lun *l = &u->luns[lun];

        l->probing = l->offline = false;
        if (!l->there) {
                if (lun_found(u, lun))
                        tree_lun_gone(u, lun);
                return;
        }
        loses_page_cache(l);
        if (fake->someone &&
            fake->someones == l->diskseq) { /* the disk that the hook has open is gone */
                fake->someone = false;
                fakesys_open_table(NULL);
        }
        tree_lun_gone(u, lun);
        l->there = false;
        udev_removes(u, l);
        for (unsigned i = 0; i < l->n_nodes; i++)
                l->nodes[i].mounted = l->nodes[i].in_table = false;
}

/* An offline LUN (k 6): every open is ENXIO, and its unwritten data is lost. */
void kernel_gives_up(struct fake_usb *u, unsigned lun)
{
        struct fake_lun *l = &u->luns[lun];

        l->offline = true;
        l->cache = 0;
        for (unsigned i = 0; i < l->n_nodes; i++)
                l->nodes[i].dirty = 0;
        tree_scsi_state(u, lun, "offline");
}

/* Which LUNs a scan finds under this driver. */
static bool lun_answers(const struct fake_usb *u, unsigned lun)
{
        if (u->pulled)
                return false;
        if (u->driver == DRIVER_UAS)
                return !u->silent_on_uas && u->missing_on_uas != lun + 1;
        return !u->silent_on_bot;
}

static void scan_finds(struct fake_usb *u)
{
        u->scan_due = 0;
        for (unsigned i = 0; i < u->n_luns; i++)
                if (!lun_found(u, i) && lun_answers(u, i))
                        lun_appears(u, i);
}

/*
 * delete_waits_for_scan (k drivers/scsi/scsi_sysfs.c:scsi_remove_device): a delete first takes the
 * lock that a scan of the host holds. Until then only the claim keeps a mount away.
 */
static void delete_waits_for_scan(const struct fake_lun *l)
{
        if (fake->switcher)
                fake_pause(DELETE_WAITS_USEC);
        not_unclaimed(l);
}

/*
 * delete_lets_nobody_in (v q): as soon as the delete begins the state is `cancel`, and every open
 * of the LUN fails. Then uasd must drop its claim on this LUN, and only on this one, because the
 * delete may take long.
 */
static void delete_lets_nobody_in(struct fake_usb *u, unsigned lun)
{
        bool claimed[FAKE_LUNS] = {false};

        for (unsigned i = 0; i < u->n_luns; i++)
                claimed[i] = u->luns[i].there && fake_claims(u->luns[i].nodes[0].name);
        tree_scsi_state(u, lun, "cancel");
        for (int tries = 0; claimed[lun] && fake_claims(u->luns[lun].nodes[0].name); tries++) {
                if (tries == 10000) {
                        fake_break("kept its claim through the delete of",
                                   u->luns[lun].nodes[0].name);
                        break;
                }
                fake_pause(1000);
        }
        for (unsigned i = 0; i < u->n_luns; i++)
                if (i != lun && claimed[i] && !fake_claims(u->luns[i].nodes[0].name))
                        fake_break("gave up the claim before the delete of",
                                   u->luns[i].nodes[0].name);
}

/* delete_takes_one_lun (v q): the driver stays bound; the drive is flushed on the way. */
int kernel_delete(const char *scsi)
{
        bool unanswered; /* its last flush */
        int host;
        unsigned lun;

        if (sscanf(scsi, "%i:0:0:%u", &host, &lun) != 2 || lun >= FAKE_LUNS)
                return -ENOENT;
        for (unsigned i = 0; i < fake->n_usb; i++) {
                struct fake_usb *u = &fake->usb[i];

                if (!u->plugged || u->driver == DRIVER_NONE || u->host != host ||
                    !lun_found(u, lun))
                        continue;
                u->touched++;
                if (u->luns[lun].probing)
                        fake_break("deleted while the kernel was probing it:", scsi);
                if (u->luns[lun].there) {
                        not_refused(&u->luns[lun]);
                        delete_waits_for_scan(&u->luns[lun]);
                        delete_lets_nobody_in(u, lun);
                }
                unanswered = u->luns[lun].offline;
                lun_goes(u, lun); /* before the kernel waits for anything */
                flushes_drive(&u->luns[lun]);
                kernel_pass(unanswered ? 60 * USEC_PER_SEC : UNBIND_USEC);
                return 0;
        }
        return -ENOENT;
}

/* scan_brings_back (v q): "- - -" finds a deleted LUN again, without a rebind. */
int kernel_scan(int host)
{
        for (unsigned i = 0; i < fake->n_usb; i++)
                if (fake->usb[i].plugged && fake->usb[i].driver != DRIVER_NONE &&
                    fake->usb[i].host == host) {
                        fake->usb[i].touched++;
                        if (!fake->usb[i].scan_due)
                                fake->usb[i].scan_due = fake->clock + UAS_SCAN_USEC;
                        return 0;
                }
        return -ENOENT;
}

/* ---- which driver takes it ---- */

/* first_entry_wins (k 2): the entry replaces the flags from the tables. Returns 1 or 0 (it has `u`
 * or not), or -1 without an entry. */
static int first_entry_wins(const struct fake_usb *u)
{
        for (const char *p = fake->quirks; *p;) {
                char *end;
                unsigned long vid = strtoul(p, &end, 16);

                if (*end == ':') {
                        unsigned long pid = strtoul(end + 1, &end, 16);
                        if (*end == ':' && vid == u->vid && pid == u->pid) {
                                for (end++; *end && *end != ','; end++)
                                        if (tolower(*end) == 'u')
                                                return 1;
                                return 0;
                        }
                }
                p = strchrnul(end, ',');
                p += *p == ',';
        }
        return -1;
}

/* two_tables (k 1.2): a row that only usb-storage's table has makes usb-storage take the disk. It
 * does not keep uas off. */
static bool uas_would_take(const struct fake_usb *u, enum driver asking)
{
        int entry = first_entry_wins(u);

        if (!u->uas)
                return false;
        if (entry >= 0)
                return entry == 0;
        if (u->vid == 0x4971 && u->pid == 0x1012) /* Hitachi: unusual_uas.h */
                return false;
        return asking == DRIVER_UAS ||
               !(u->vid == 0x2109 && u->pid == 0x0715); /* VL817: unusual_devs.h */
}

static int uas_probe(const struct fake_usb *u)
{
        if (u->pulled) /* the device cannot set alternate setting 1 */
                return -ENODEV;
        if (u->driver != DRIVER_NONE)
                return -EBUSY;                              /* v b */
        return uas_would_take(u, DRIVER_UAS) ? 0 : -ENODEV; /* v b */
}

static int storage_probe(const struct fake_usb *u)
{
        /* alt_1_is_not_bot (v b): the id table of usb-storage does not match a disk on uas, so the
         * error is not even EBUSY. */
        if (u->alt != 0 || !u->bot)
                return -ENODEV;
        if (u->driver != DRIVER_NONE)
                return -EBUSY; /* v b */
        /* vendor_never_declines (v 13): without CONFIG_USB_UAS usb-storage does not check. */
        return !fake->vendor && uas_would_take(u, DRIVER_USB_STORAGE) ? -ENXIO : 0; /* v b */
}

static int next_host(void)
{
        int host = 0;

        while (fake->hosts & 1 << host)
                host++;
        return host;
}

static bool on_record(void)
{
        char text[4096];

        return attr_read(fake->roots.etc, "uasd/" STATE_HISTORY, text, sizeof(text)) > 0 ||
               attr_read(fake->roots.var, STATE_DIR "/" STATE_HISTORY, text, sizeof(text)) > 0;
}

/* bind_does_not_wait (v b): on return the link and the alternate setting exist, the disks do not.
 */
static void bind_does_not_wait(struct fake_usb *u, enum driver d)
{
        if (d == DRIVER_UAS && fake->needs_trial && u == &fake->usb[0] && u->bot && !on_record())
                fake_break("on uas without a trial on record:", u->interface);
        u->driver = d;
        if (d == DRIVER_UAS && u->bot)
                u->alt = 1;
        u->host = next_host();
        fake->hosts |= 1 << u->host;
        tree_driver(u);
        tree_host(u);
        u->scan_due = fake->clock + BIND_USEC +
                      (d == DRIVER_UAS   ? UAS_SCAN_USEC
                       : fake->delay_use ? fake->delay_use
                                         : DELAY_USE_USEC);
        kernel_pass(BIND_USEC);
}

int kernel_bind(enum driver d, const char *interface)
{
        struct fake_usb *u = find_usb(interface);
        int r;

        if (d == DRIVER_UAS && !fake->uas_loaded)
                return -ENOENT;
        if (!u || !u->authorized) /* gone_is_enodev (v b) */
                return -ENODEV;
        u->touched++;
        r = d == DRIVER_UAS ? uas_probe(u) : storage_probe(u);
        if (r == 0)
                bind_does_not_wait(u, d);
        return r;
}

/* unbind_takes_all (v b, k 3.2): LUNs, host and link are gone on return, and alternate setting 0 is
 * back. */
static void unbind_takes_all(struct fake_usb *u)
{
        enum driver was = u->driver;

        if (!fake->reader_stays)
                fakesys_hang_on(NULL);
        for (unsigned i = 0; i < u->n_luns; i++) {
                struct fake_lun *l = &u->luns[i];

                if (!l->there) {
                        lun_goes(u, i);
                        continue;
                }
                lun_goes(u, i);
                if (was == DRIVER_UAS)
                        uas_cannot_flush(l);
                else
                        flushes_drive(l);
        }
        u->scan_due = 0;
        u->driver = DRIVER_NONE;
        u->alt = 0;
        tree_driver(u);
        tree_host(u);
        fake->hosts &= ~(1 << u->host);
}

int kernel_unbind(enum driver d, const char *interface)
{
        struct fake_usb *u = find_usb(interface);

        if (d == DRIVER_UAS && (!fake->uas_loaded || fake->clock < fake->files_at))
                return -ENOENT;
        if (!u || u->driver != d) /* gone_is_enodev (v b) */
                return -ENODEV;
        u->touched++;
        u->unbound++;
        for (unsigned i = 0; i < u->n_luns; i++)
                if (u->luns[i].there) {
                        not_refused(&u->luns[i]);
                        not_unclaimed(&u->luns[i]);
                }
        unbind_takes_all(u);
        kernel_pass(UNBIND_USEC);
        return 0;
}

/* module_takes_unbound (k 3.5): when a driver registers, the kernel binds every matching interface
 * without a driver to it. */
int kernel_load_uas(void)
{
        if (fake->uas_loaded)
                return 0;
        if (!fake->uas_loadable)
                return -ENOENT;
        fake->uas_loaded = true;
        tree_write("", "sys/bus/usb/drivers/uas/bind");
        for (unsigned i = 0; i < fake->n_usb; i++)
                if (fake->usb[i].plugged && fake->usb[i].authorized &&
                    uas_probe(&fake->usb[i]) == 0)
                        bind_does_not_wait(&fake->usb[i], DRIVER_UAS);
        return 0;
}

void kernel_unbound(struct fake_usb *u)
{
        if (u->driver != DRIVER_NONE)
                unbind_takes_all(u);
}

/* The files of the driver go first (drivers/base/bus.c:bus_remove_driver). */
void kernel_unload_uas(void)
{
        fake->uas_loaded = false;
        tree_remove("sys/bus/usb/drivers/uas/bind");
        for (unsigned i = 0; i < fake->n_usb; i++)
                if (fake->usb[i].driver == DRIVER_UAS)
                        unbind_takes_all(&fake->usb[i]);
        tree_remove("sys/bus/usb/drivers/uas");
}

/* probe_any_driver (k 3.1): the first driver that accepts the interface gets it. If none does, that
 * is no error. usb-storage registered before uas. */
int kernel_probe(const char *interface)
{
        struct fake_usb *u = find_usb(interface);

        if (!u)
                return -ENODEV;
        u->touched++;
        if (u->authorized && storage_probe(u) == 0)
                bind_does_not_wait(u, DRIVER_USB_STORAGE);
        else if (u->authorized && fake->uas_loaded && uas_probe(u) == 0)
                bind_does_not_wait(u, DRIVER_UAS);
        return 0;
}

/* quirks_127 (k 2, v b): a longer string is ENOSPC and changes nothing. A write of no bytes never
 * reaches the kernel. */
int kernel_quirks(const char *text)
{
        if (strlen(text) >= sizeof(fake->quirks))
                return -ENOSPC;
        if (*text)
                fakesys_set_quirks(text); /* the kernel keeps a newline */
        return 0;
}

/* ---- users ---- */

/* claim_excludes (k 4, v e): claims on the whole disk and on partitions exclude each other. They do
 * not exclude plain opens. */
int kernel_open(const char *node, int flags)
{
        struct fake_usb *u;
        struct fake_lun *l;

        if (!kernel_node(node, &u, &l))
                return -ENXIO;
        for (unsigned i = 0; (flags & O_EXCL) && i < l->n_nodes; i++)
                if (l->nodes[i].mounted)
                        return -EBUSY;
        if (l->offline)
                return -ENXIO;
        slot_noticed(u, l);
        return l->empty && !(flags & O_NONBLOCK) ? -ENOMEDIUM : 0;
}

int kernel_mount(const char *node, bool in_table)
{
        struct fake_lun *l;
        struct fake_node *n = kernel_node(node, NULL, &l);

        if (!n)
                return -ENXIO;
        if (fake_claims(l->nodes[0].name))
                return -EBUSY;
        n->mounted = true;
        n->in_table = in_table;
        fakesys_mount_table();
        return 0;
}

void kernel_umount(const char *node)
{
        struct fake_node *n = kernel_node(node, NULL, NULL);

        if (n)
                n->mounted = n->in_table = false;
        fakesys_mount_table();
}

/* trigger_runs_rules: a synthetic `add` is an uevent like any other; without a hold mark it ends
 * the hold. */
int kernel_trigger(const char *block)
{
        struct fake_usb *u;
        struct fake_lun *l;
        const struct fake_node *n = kernel_node(block, &u, &l);

        if (!n)
                return -ENOENT;
        udev_triggers(u, l, n);
        return 0;
}

/* dead_mans_timer (DESIGN, the hold): PID 1 releases each hold that neither the switch nor the
 * daemon has released. */
void kernel_dead_mans_timer(void)
{
        for (unsigned i = 0; i < fake->n_usb && fake->timers; i++)
                for (unsigned l = 0; l < FAKE_LUNS; l++)
                        for (unsigned k = 0; k < FAKE_NODES; k++)
                                fake->usb[i].luns[l].nodes[k].held = false;
}

/* ---- the cable ---- */

void kernel_unplug(struct fake_usb *u)
{
        unsigned lost = fake->lost, at_risk = fake->at_risk;

        if (!u->plugged)
                return;
        if (u->driver != DRIVER_NONE)
                unbind_takes_all(u);
        fake->at_risk = at_risk;
        fake->lost =
                lost; /* the user who pulls it out loses unwritten bytes: not a fault of uasd */
        tree_unplug_interface(u);
        if (u->slow_to_go)
                u->device_goes_at = fake->clock + USEC_PER_SEC / 10;
        else
                tree_unplug(u);
        u->plugged = u->pulled = false;
        u->disconnect_at = 0;
        fakesys_mount_table();
        if (!u->comes_back)
                return;
        u->plug_at = fake->clock + u->away;
        if (u->away == 0)
                kernel_plug_again(u);
}

/* A drive that stops with bytes in its cache may lose them (tests/vm/cases/eject.py stops a real
 * one). */
int kernel_stop(const char *node)
{
        struct fake_lun *l;

        if (!kernel_node(node, NULL, &l))
                return -ENODEV;
        if (l->cache)
                fake_break("stopped with bytes in its cache:", node);
        l->stopped = true;
        return 0;
}

/*
 * A write to `remove` (drivers/usb/core/sysfs.c:remove_store) unbinds the driver as `unbind` does,
 * also from a disk in use. Then the hub disables the port.
 */
int kernel_remove(const char *interface)
{
        for (unsigned i = 0; i < fake->n_usb; i++) {
                struct fake_usb *u = &fake->usb[i];

                if (!u->plugged || !streq(u->interface, interface))
                        continue;
                u->touched++;
                for (unsigned k = 0; k < u->n_luns; k++)
                        if (u->luns[k].there)
                                not_refused(&u->luns[k]);
                if (u->driver != DRIVER_NONE)
                        unbind_takes_all(u);
                kernel_unplug(u);
                u->removed = true;
                return 0;
        }
        return -ENODEV;
}

/* error_comes_first: a pulled disk fails every command until the hub reports the disconnect. */
void kernel_pull(struct fake_usb *u, uint64_t usec)
{
        if (!u->plugged)
                return;
        u->pulled = true;
        u->disconnect_at = fake->clock + usec;
}

static void takes_new(struct fake_usb *u)
{
        tree_plug(u);
        if (fake->uas_loaded && uas_probe(u) == 0 && !fake->vendor)
                bind_does_not_wait(u, DRIVER_UAS);
        else if (storage_probe(u) == 0)
                bind_does_not_wait(u, DRIVER_USB_STORAGE);
}

/* The same disk at the same port. Only its device number differs. */
void kernel_plug_again(struct fake_usb *u)
{
        u->plug_at = 0;
        u->comes_back = false;
        u->plugged = true;
        u->dev += 2;
        u->touched = u->unbound = 0;
        takes_new(u);
}

/* Another disk at the same port. The kernel's choice of driver applies. */
void kernel_replug(struct fake_usb *u)
{
        kernel_unplug(u);
        u->plugged = true;
        u->dev++;
        u->silent_on_uas = u->silent_on_bot = u->garbles_on_uas = u->stalls_on_uas = false;
        u->missing_on_uas = 0;
        u->spun_at = 0;
        u->touched = u->unbound = 0;
        for (unsigned i = 0; i < u->n_luns; i++)
                u->luns[i].content += 1000;
        takes_new(u);
        kernel_pass(3 * USEC_PER_SEC);
}

void kernel_pass(uint64_t usec)
{
        fake->clock += usec;
        udev_passes();
        for (unsigned i = 0; i < fake->n_usb; i++) {
                struct fake_usb *u = &fake->usb[i];

                if (u->scan_due && u->scan_due <= fake->clock)
                        scan_finds(u);
                if (u->answers_slowly && u->luns[0].there)
                        tree_commands(u, 0);
                for (unsigned k = 0; k < u->n_luns && u->spun_at <= fake->clock; k++)
                        if (u->luns[k].probing)
                                block_appears(u, k);
                if (u->disconnect_at && u->disconnect_at <= fake->clock)
                        kernel_unplug(u);
                if (u->device_goes_at && u->device_goes_at <= fake->clock) {
                        tree_unplug(u);
                        u->device_goes_at = 0;
                }
                if (u->plug_at && u->plug_at <= fake->clock)
                        kernel_plug_again(u);
        }
}

/* scan_brings_back (v q), by another program. */
void kernel_rescan(struct fake_usb *u)
{
        if (u->plugged && u->driver != DRIVER_NONE)
                scan_finds(u);
}

/* sleep_stops_all (CLOCK_BOOTTIME goes on): scans and udev's workers are frozen as long as the
 * machine sleeps. */
void kernel_sleeps(uint64_t usec)
{
        fake->clock += usec;
        fake->slept += usec;
        fake->files_at += fake->files_at ? usec : 0;
        for (unsigned i = 0; i < fake->n_usb; i++)
                if (fake->usb[i].scan_due)
                        fake->usb[i].scan_due += usec;
        for (unsigned i = 0; i < ELEMENTSOF(fake->events); i++) {
                struct fake_event *e = &fake->events[i];

                if (e->due == UINT64_MAX)
                        e->asked += usec;
                if (e->due != UINT64_MAX && e->due + usec > fake->clock)
                        e->due += usec;
        }
}
