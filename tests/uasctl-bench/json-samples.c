/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Results as JSON, a line each: with every member, and with as few as possible. */
#include "samples.h"

#include "bench/tell/tell.h"
#include "term/json.h"

/* Every member that may be null is null. */
static struct bench little(void)
{
        struct bench b = {.id = "0f3c2a4e-6b1d-4c77-9a55-1d2e3f405163"};
        unsigned p = sample_pattern(&b, "p", "read", 4096, 1);

        sample_run(&b, p, DRIVER_NONE, 1000)->read.clat_mean_ns = -1;
        b.patterns[p].engine[0] = '\0';
        b.finding = (struct bench_finding){.found = true, .driver = DRIVER_USB_STORAGE};
        return b;
}

int main(void)
{
        struct bench full = sample_full(), plain = sample_comparison(), few = little(), single = little();

        full.runs[1].error = -EIO; /* a run that raises a doubt */
        json_print_line(bench_json(&full));
        json_print_line(bench_json(&plain));
        json_print_line(bench_json(&few));
        single.finding.found = false;
        json_print_line(bench_json(&single));
        json_print_line(bench_json_diff(&full, &plain));
        bench_done(&full);
        bench_done(&plain);
        bench_done(&few);
        bench_done(&single);
        return 0;
}
