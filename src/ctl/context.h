/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client.h"
#include "client/remote.h"
#include "client/view.h"
#include "common/exit-codes.h"
#include "ctl/options.h"

/* What every verb gets. */
struct ctl {
        const struct options *options;
        struct client client;
        const char *root; /* the folder that client.roots are in; NULL: the machine itself */
};
