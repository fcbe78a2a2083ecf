/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/inotify.h>

#include "common/util.h"
#include "fake.h"

#define CARD_BYTES 512 /* bytes that a program has written to the card and not yet synced */

/* Before the switch: the user takes the medium out. */
void slot_empties(struct fake_usb *u, unsigned lun)
{
        struct fake_lun *l = &u->luns[lun];

        tree_lun_gone(u, lun);
        l->empty = true;
        kernel_names(l, 1);
        tree_lun(u, lun);
}

void medium_changes(struct fake_usb *u, unsigned lun)
{
        if (!u->luns[lun].there)
                return;
        u->luns[lun].diskseq = ++fake->diskseq;
        tree_lun(u, lun);
}

bool kernel_inserts(struct fake_usb *u)
{
        for (unsigned i = 0; i < u->n_luns; i++)
                if (u->luns[i].empty)
                        return u->luns[i].card = true;
        return false;
}

/*
 * card_is_seen (drivers/scsi/sd.c:sd_open, block/genhd.c): at an open of the node the kernel looks
 * for the medium and reads its partitions. From then on the node leads to another disk.
 */
void slot_noticed(struct fake_usb *u, struct fake_lun *l)
{
        if (!l->card)
                return;
        l->card = l->empty = false;
        l->diskseq = ++fake->diskseq;
        l->content += 500;
        kernel_names(l, u->n_parts + 1);
        tree_lun(u, (unsigned) (l - u->luns));
}

/* mount(8) and dd open the whole disk first. After that its partitions are there. */
void somebody_with_a_card(enum fake_what what)
{
        struct fake_usb *u = &fake->usb[0];
        struct fake_lun *l = &u->luns[u->n_luns - 1];
        char path[96];
        int fd;

        if (!kernel_inserts(u) || what == HOOK_CARD || !l->there ||
            kernel_open(l->nodes[0].name, O_NONBLOCK) < 0)
                return;
        fake_inotify_tell(l->nodes[0].name, IN_OPEN);
        fake_inotify_tell(l->nodes[0].name, IN_CLOSE_NOWRITE);
        if (what != HOOK_CARD_WRITE) {
                if (kernel_mount(l->nodes[1].name, what == HOOK_CARD_MOUNT) >= 0)
                        fake->opened_at = fake->n_ops;
                return;
        }
        (void) snprintf(path, sizeof(path), "%s/dev/%s", fake->path, l->nodes[1].name);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
                return;
        kernel_write_bytes(l->nodes[1].name, CARD_BYTES);
        fake->written_late = true;
        fake->opened_at = fake->n_ops;
        fake_someone_is_at(l, l->nodes[1].name, fd);
}
