/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "core/facts.h"
#include "sys/io/roots.h"

/* A machine in a temporary folder, with one USB disk on usb-storage which could do UAS: 2-1:1.0,
 * sda, sda1. */
struct tree {
        char path[64];
        struct roots roots;
};

#define TREE_INTERFACE "2-1:1.0"
#define TREE_DIR "sys/devices/pci0/usb2/2-1/2-1:1.0"

void tree_make(struct tree *t);
void tree_remove(struct tree *t);
/* Another kernel runs from now on. */
void tree_boot_kernel(struct tree *t, const char *release);
/* Files and links below the folder. They make missing directories, and replace existing files. */
void tree_write(struct tree *t, const char *path, const char *text);
void tree_link(struct tree *t, const char *path, const char *target);
void tree_unlink(struct tree *t, const char *path);
bool tree_exists(struct tree *t, const char *path);
char *tree_read(struct tree *t, const char *path); /* NULL: no such file */
/* The identity of the attachment there now; valid until the next call. */
const struct facts *tree_facts(struct tree *t);
/* "run/uasd/DIR/2-1:1.0@2-5-4711", of the attachment there now; valid until the next call. */
const char *tree_attachment(struct tree *t, const char *dir);
/* Its disk speaks only UAS. */
void tree_uas_alone(struct tree *t);
/* One more disk behind the same interface. */
void tree_add_lun(struct tree *t, unsigned lun, const char *name, unsigned minor);
