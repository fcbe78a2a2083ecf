/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <unistd.h>

#include "fake.h"

/* Prints the folder of the fake kernel, which has a disk of two LUNs at 2-1 on the driver of
 * argv[1], until stdin ends. */
int main(int argc, char *argv[])
{
        char end;

        fakesys_make();
        (void) fakesys_add_usb_disk("2-1", (enum driver) driver_from_string(argv[1]), 2, 1);
        (void) puts(fake->path);
        (void) fflush(stdout);
        (void) !read(STDIN_FILENO, &end, 1);
        fakesys_remove();
        return 0;
}
