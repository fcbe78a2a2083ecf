/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "sys/block/claim.h"
#include "sys/io/roots.h"

/*
 * uasd-switch for the machine in the folder $TREE, up to the moment when it opens the disk: there
 * it ends with success. Linked with --wrap=claim_prepare,roots_open.
 */

int __real_roots_open(struct roots *ret, const char *prefix);
int __wrap_roots_open(struct roots *ret, const char *prefix);
int __wrap_roots_open(struct roots *ret, const char *prefix)
{
        return __real_roots_open(ret, getenv("TREE"));
}

int __wrap_claim_prepare(const struct roots *r, const struct lun *luns, size_t n_luns,
                         enum driver driver, struct awake deadline, struct claim *ret,
                         char ret_busy[static BLOCK_NAME_MAX]);
int __wrap_claim_prepare(const struct roots *r, const struct lun *luns, size_t n_luns,
                         enum driver driver, struct awake deadline, struct claim *ret,
                         char ret_busy[static BLOCK_NAME_MAX])
{
        _exit(0);
}
