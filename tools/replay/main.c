/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a kernel log, and prints what uasd notes and decides for each disk in it. Built and run by
 * tools/replay-log. */
#include "replay.h"

static const char help[] =
        "usage: replay-log [--json] FILE (-: standard input)\n"
        "\n"
        "Prints what uasd would note and decide for each USB disk of a kernel log.\n"
        "\n"
        "FILE is the output of dmesg, also with -T, -x, -r or --time-format, or of journalctl -k, also with -o short-iso,\n"
        "short-precise, short-monotonic, short-full, short-unix or json; or a file of syslog; or a copy of /dev/kmsg.\n"
        "\n"
        "  --json  prints a list of {\"port\", \"verdict\", \"cause\"}. verdict: none, noted, distrust, cleared.\n"
        "          cause: bridge, cable, power, hub, controller, disk, host, unknown\n"
        "\n"
        "A log may begin in the middle. Lines at its beginning say what is missing:\n"
        "\n"
        "  #driver PORT uas|usb-storage            the driver of the disk at this port (2-1.4)\n"
        "  #dev PORT=NUMBER                        its device number\n"
        "  #facts HOST PORT BUS NUMBER CONTROLLER  its SCSI host (host3), port, bus, device number, and the device of its USB\n"
        "                                          controller (0000:00:14.0)\n"
        "\n"
        "Other lines that begin with # are comments. A disk on uas whose port the log does not show has the name of its SCSI\n"
        "host. Messages of other hosts count for no disk.\n";

static const char *verdict(const struct replayed *d)
{
        switch (d->worst) {
        case FINDING_BROKEN:
                return "distrust";
        case FINDING_CLEARED:
                return "cleared";
        case FINDING_NOTED:
        case FINDING_BLAMED:
                return "noted";
        case FINDING_NONE:
                break;
        }
        return "none";
}

static void print_finding(const struct replayed *d, const struct finding *f, usec_t usec)
{
        printf("%12.6f %s: %s, %s: %s\n", (double) usec / 1e6, d->facts.port,
               f->finding == FINDING_BROKEN    ? "distrust"
               : f->finding == FINDING_CLEARED ? "cleared"
                                               : "noted",
               blame_to_string(f->blame), f->what);
}

static void print_result(const struct replay *r, bool json)
{
        size_t n = 0;

        if (json)
                (void) putchar('[');
        for (size_t i = 0; i < r->n; i++) {
                const struct replayed *d = r->disks + i;

                /* Without its port, a disk is of interest only if something has happened to it. */
                if ((!d->drives || !strchr(d->facts.port, '-')) && d->worst == FINDING_NONE)
                        continue;
                if (json)
                        printf("%s{\"port\":\"%s\",\"verdict\":\"%s\",\"cause\":\"%s\"}",
                               n++ > 0 ? "," : "", d->facts.port, verdict(d),
                               blame_to_string(d->blame ?: BLAME_UNKNOWN));
                else
                        printf("%s: %s%s%s\n", d->facts.port, verdict(d),
                               d->blame ? ", to blame: " : "",
                               d->blame ? blame_sentence(d->blame) : "");
        }
        if (json)
                (void) puts("]");
}

/* Returns the whole text, with a blank for each NUL. */
static char *read_all(FILE *in)
{
        _cleanup_free_ char *log = NULL;
        size_t size, n;
        char block[4096];
        FILE *copy = open_memstream(&log, &size);

        while (copy && (n = fread(block, 1, sizeof(block), in)) > 0)
                for (size_t i = 0; i < n; i++)
                        (void) fputc(block[i] ?: ' ', copy);
        if (!copy || fclose(copy) != 0 || ferror(in))
                return NULL;
        return TAKE_PTR(log);
}

static int run(const char *file, bool json)
{
        static struct replay replay;
        struct reader reader = {0};
        _cleanup_free_ char *log = NULL;
        FILE *in = streq(file, "-") ? stdin : fopen(file, "re");
        char *line, *next;

        log = in ? read_all(in) : NULL;
        if (!log) {
                (void) fprintf(stderr, "replay-log: cannot read %s: %s\n", file, strerror(errno));
                return 1;
        }
        replay.found = json ? NULL : print_finding;
        replay_begin(&replay, log);
        for (line = log; line; line = next) {
                struct kmsg k;

                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';
                if (!replay_directive(&replay, line) && line_read(&reader, line, &k))
                        replay_take(&replay, &k);
        }
        if (reader.refused) {
                (void) fprintf(
                        stderr,
                        "replay-log: %s is made by journalctl -o %s. Make it with -o json.\n", file,
                        reader.refused);
                return 1;
        }
        if (reader.other && reader.records == 0) {
                (void) fprintf(
                        stderr,
                        "replay-log: %s has no message of the kernel. Make it with dmesg or journalctl -k.\n",
                        file);
                return 1;
        }
        if (reader.records > 0 && !reader.timed)
                (void) fprintf(
                        stderr,
                        "replay-log: %s has no times, so all messages count as one moment.\n",
                        file);
        print_result(&replay, json);
        return 0;
}

static int usage(void)
{
        (void) fputs("usage: replay-log [--json] FILE (-: standard input), or replay-log --help\n",
                     stderr);
        return 2;
}

int main(int argc, char **argv)
{
        const char *file = NULL;
        bool json = false;

        for (int i = 1; i < argc; i++)
                if (streq(argv[i], "--json"))
                        json = true;
                else if (streq(argv[i], "--help") || streq(argv[i], "-h")) {
                        (void) fputs(help, stdout);
                        return 0;
                } else if (file || (argv[i][0] == '-' && argv[i][1]))
                        return usage();
                else
                        file = argv[i];
        return file ? run(file, json) : usage();
}
