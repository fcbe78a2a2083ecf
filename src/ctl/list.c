/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/log.h"
#include "ctl/json.h"
#include "ctl/output.h"
#include "ctl/source.h"

int verb_list(const struct ctl *c, char **args)
{
        _cleanup_(views_done) struct views views = {};
        int code, k;

        code = source_read(c, &views);
        if (code != UASD_EXIT_OK)
                return code;
        if (c->options->json)
                k = json_print(json_views(&views));
        else if (views.n > 0)
                k = output_list(&views, c->options->legend);
        else {
                log_info("There are no USB disks.");
                k = 0;
        }
        return k < 0 ? UASD_EXIT_FAILED : UASD_EXIT_OK;
}
