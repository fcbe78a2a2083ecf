/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies a page, and puts the code's own tables where it asks for them, so that the manual says
 * what the code does. */
#include "common/util.h"
#include "core/explain.h"
#include "core/policy.h"

/* For scdoc. */
static void print_text(const char *s)
{
        for (; *s; s++) {
                if (strchr("\\*_#", *s))
                        putchar('\\');
                putchar(*s);
        }
}

static void print_driver(const struct decision_row *row)
{
        if (row->choice)
                print_text(row->choice);
        else if (row->target != DRIVER_NONE)
                print_text(driver_to_string(row->target));
        else
                printf("the one it has");
        if (row->rest != STATE_SETTLED)
                printf("; state *%s*", state_to_string(row->rest));
}

static void print_decision(void)
{
        for (size_t i = 0; i < ELEMENTSOF(policy_rows); i++) {
                const struct decision_row *row = policy_rows + i;

                printf("%s*%s*\n\t", i ? "\n" : "", row->word);
                print_text(row->means);
                printf(" Driver: ");
                print_driver(row);
                printf(".");
                if (row->remedy) {
                        printf(" To have it otherwise: ");
                        print_text(row->remedy);
                }
                putchar('\n');
        }
}

static void print_states(void)
{
        for (enum state s = 0; s < _STATE_MAX; s++) {
                printf("%s*%s*\n\t", s ? "\n" : "", state_to_string(s));
                print_text(state_sentence(s));
                putchar('\n');
        }
}

int main(void)
{
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        while (getline(&line, &size, stdin) >= 0)
                if (streq(line, "@DECISION@\n"))
                        print_decision();
                else if (streq(line, "@STATES@\n"))
                        print_states();
                else if (line[0] == '@')
                        return fprintf(stderr, "tables: there is no table %s", line), EXIT_FAILURE;
                else
                        fputs(line, stdout);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
