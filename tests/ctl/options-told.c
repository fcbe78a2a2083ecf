/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/options.h"
#include "ctl/verbs.h"

/*
 * Reads lines of words from stdin. Prints for each the errors of the options and of the table of
 * verbs, and then a line ".". So a test of all verbs and options needs one process.
 */

#define WORDS_MAX 16

int main(void)
{
        char line[1024];

        if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
                return 1;
        while (fgets(line, sizeof(line), stdin)) {
                char *argv[WORDS_MAX + 2] = {(char *) "uasctl"}, *rest = line;
                struct options o;
                int argc = 1, first;

                while (argc <= WORDS_MAX && (argv[argc] = strtok_r(rest, " \n", &rest)))
                        argc++;
                argv[argc] = NULL;
                first = options_parse(argc, argv, &o);
                if (first >= 0)
                        (void) verb_check(&o, argv + first);
                puts(".");
                if (fflush(stdout) != 0)
                        return 1;
        }
        return 0;
}
