/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a kernel log as text, and prints what uasd notes and decides for each disk in it. Built and run by tools/replay-log. */
#include <ctype.h>
#include <time.h>

#include "core/trouble.h"

#define DISKS_MAX 64
#define PORT_MAX 32

struct replayed {
        struct facts facts;
        char host[16];
        bool drives; /* a storage driver has it */
        bool fresh;  /* new, and no driver has taken it yet; too fast for a keyboard */
        struct trouble account;
        enum findings worst;
        enum blame blame;
};

static struct replayed disks[DISKS_MAX];
static size_t n_disks;
static char controller[64];
static struct kmsg excuse;     /* the last record that excuses all disks of a controller or of the machine */
static bool json, without_uas; /* the log has no message of uas */

static struct replayed *by_port(const char *port, bool create)
{
        struct replayed *d;
        struct sign s;

        for (size_t i = 0; i < n_disks; i++)
                if (streq(disks[i].facts.port, port))
                        return disks + i;
        if (!create || n_disks == DISKS_MAX || !copy_string(disks[n_disks].facts.port, PORT_MAX, port))
                return NULL;
        d = disks + n_disks++;
        trouble_driver(&d->account, without_uas ? DRIVER_USB_STORAGE : DRIVER_UAS, TRUST_GOOD);
        d->facts.busnum = (unsigned) strtoul(port, NULL, 10);
        if (sign_read(&excuse, &s))
                trouble_take(&d->account, &s, excuse.usec, &(struct finding){});
        return d;
}

/* The log shows that a driver takes it. */
static void driven(struct replayed *d, enum driver driver)
{
        d->drives = true;
        d->fresh = false;
        trouble_driver(&d->account, driver, d->account.trust);
}

/* uas does not name the port of its host. It takes disks in the order in which the kernel has found them. */
static struct replayed *oldest_fresh(void)
{
        for (size_t i = 0; i < n_disks; i++)
                if (disks[i].fresh)
                        return disks + i;
        return NULL;
}

static size_t count_driven(struct replayed **ret)
{
        size_t n = 0;

        for (size_t i = 0; i < n_disks; i++)
                if (disks[i].drives) {
                        *ret = disks + i;
                        n++;
                }
        return n;
}

/* The disk of a SCSI host. The log may not say it; then it is the only disk, or a disk of its own that is named after the host.
 */
static struct replayed *by_host(const char *host)
{
        struct replayed *only = NULL;

        for (size_t i = 0; i < n_disks; i++)
                if (streq(disks[i].host, host))
                        return disks + i;
        if (n_disks == 1 && !disks[0].host[0])
                only = disks;
        else if (count_driven(&only) != 1 || only->host[0])
                only = by_port(host, true);
        if (only) {
                only->drives = true;
                (void) copy_string(only->host, sizeof(only->host), host);
        }
        return only;
}

static bool is_port(const char *s)
{
        size_t n = strlen(s);

        return s[strspn(s, "0123456789")] == '-' && isdigit((unsigned char) s[0]) && isdigit((unsigned char) s[n - 1]) &&
               s[strspn(s, "0123456789-.")] == '\0';
}

static void learn(const char *text)
{
        /* The speed before it has one word or more. */
        const char *number = strstr(text, " USB device number ");
        char name[64], word[64], host[16];
        struct replayed *d;

        if (number && sscanf(text, "usb %31[0-9.-]: %63s", name, word) == 2 && is_port(name) &&
            (streq(word, "new") || streq(word, "reset"))) {
                d = by_port(name, true);
                if (!d)
                        return;
                d->facts.devnum = (unsigned) strtoul(number + strlen(" USB device number "), NULL, 10);
                if (streq(word, "new")) {
                        d->fresh = !strstr(text, "low-speed") && !strstr(text, "full-speed");
                        d->host[0] = '\0';
                }
        } else if (sscanf(text, "hub %31[0-9.-]:%63s", name, word) == 2 && (d = by_port(name, false))) {
                d->fresh = false;
        } else if (sscanf(text, "scsi %15[a-z0-9]: usb-storage %31[0-9.-]:", host, name) == 2 && is_port(name)) {
                if ((d = by_port(name, true))) {
                        driven(d, DRIVER_USB_STORAGE);
                        (void) copy_string(d->host, sizeof(d->host), host);
                }
        } else if (sscanf(text, "scsi %15[a-z0-9]: %63s", host, word) == 2 && streq(word, "uas")) {
                for (size_t i = 0; i < n_disks; i++) /* the number was another disk's before */
                        if (streq(disks[i].host, host))
                                disks[i].host[0] = '\0';
                d = oldest_fresh() ?: by_host(host);
                if (d) {
                        driven(d, DRIVER_UAS);
                        (void) copy_string(d->host, sizeof(d->host), host);
                }
        } else if (sscanf(text, "usb-storage %31[0-9.-]:%*[0-9.]: %63s", name, word) == 2 && is_port(name)) {
                d = by_port(name, true);
                if (d && streq(word, "USB"))
                        driven(d, DRIVER_USB_STORAGE);
        } else if (sscanf(text, "xhci%*[-_]hcd %63[^ ]", word) == 1 && word[strlen(word) - 1] == ':')
                (void) copy_part(controller, sizeof(controller), word, strlen(word) - 1);
}

/* The fields that the kernel adds to a record, as far as its text shows them. */
static void add_fields(struct kmsg *k)
{
        char name[64];
        unsigned a, b, c, e;
        const struct replayed *d;

        if (sscanf(k->text, "%*[a-z] %u:%u:%u:%u: ", &a, &b, &c, &e) == 4) {
                (void) copy_string(k->subsystem, sizeof(k->subsystem), "scsi");
                (void) snprintf(k->device, sizeof(k->device), "+scsi:%u:%u:%u:%u", a, b, c, e);
        } else if (sscanf(k->text, "scsi host%u: ", &a) == 1) {
                (void) copy_string(k->subsystem, sizeof(k->subsystem), "scsi");
                (void) snprintf(k->device, sizeof(k->device), "+scsi:host%u", a);
        } else if (sscanf(k->text, "usb %31[0-9.-]:", name) == 1 && is_port(name)) {
                (void) copy_string(k->subsystem, sizeof(k->subsystem), "usb");
                d = by_port(name, false);
                if (d && d->facts.devnum > 0 && d->facts.devnum <= 128 && d->facts.busnum > 0 && !strstr(k->text, ": new "))
                        (void) snprintf(k->device, sizeof(k->device), "c189:%u",
                                        (d->facts.busnum - 1) * 128 + d->facts.devnum - 1);
                else
                        (void) snprintf(k->device, sizeof(k->device), "+usb:%s", name);
        } else if (sscanf(k->text, "%*[a-z-] %31[0-9.-]:%*u.%u: ", name, &a) == 2) {
                (void) copy_string(k->subsystem, sizeof(k->subsystem), "usb");
                (void) snprintf(k->device, sizeof(k->device), "+usb:%s:1.0", name);
        } else if (sscanf(k->text, "%*[a-z_-] %63[^ ]", name) == 1 && name[strlen(name) - 1] == ':') {
                name[strlen(name) - 1] = '\0';
                if (!strpbrk(name, ".:")) /* "usb2-port1" */
                        return;
                (void) copy_string(k->subsystem, sizeof(k->subsystem), strchr(name, ':') ? "pci" : "platform");
                (void) snprintf(k->device, sizeof(k->device), "+%s:%.50s", k->subsystem, name);
        }
}

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

static void take(struct replayed *d, const struct sign *s, const struct kmsg *k)
{
        static const enum findings severity[] = {FINDING_NONE, FINDING_NOTED, FINDING_BLAMED, FINDING_BROKEN, FINDING_CLEARED};
        struct finding f;
        size_t now = 0, before = 0;

        trouble_take(&d->account, s, k->usec, &f);
        if (f.finding == FINDING_NONE)
                return;
        while (severity[now] != f.finding)
                now++;
        while (severity[before] != d->worst)
                before++;
        if (!json)
                printf("%12.6f %s: %s, %s: %s\n", (double) k->usec / 1e6, d->facts.port,
                       f.finding == FINDING_BROKEN    ? "distrust"
                       : f.finding == FINDING_CLEARED ? "cleared"
                                                      : "noted",
                       blame_to_string(f.blame), f.what);
        if (now >= before) {
                d->worst = f.finding;
                d->blame = f.blame;
        }
}

static void weigh(struct kmsg *k)
{
        struct sign s, own;

        learn(k->text);
        add_fields(k);
        if (!sign_read(k, &s))
                return;
        if (s.excuses && (s.place == PLACE_CONTROLLER || s.place == PLACE_MACHINE))
                excuse = *k;
        if (s.place == PLACE_HOST)
                (void) by_host(s.name);
        else if (s.place == PLACE_CONTROLLER && n_disks == 0)
                return;
        for (size_t i = 0; i < n_disks; i++) {
                if (!disks[i].facts.controller_device[0])
                        (void) copy_string(disks[i].facts.controller_device, sizeof(disks[i].facts.controller_device),
                                           controller);
                if (sign_about(&s, &disks[i].facts, disks[i].host, &own))
                        take(disks + i, &own, k);
        }
}

/* ---- the text ---- */

static bool directive(const char *line)
{
        char port[PORT_MAX], word[64], host[16];
        unsigned bus, dev;
        struct replayed *d;

        if (sscanf(line, "#driver %31s %63s", port, word) == 2 && is_port(port) && (d = by_port(port, true))) {
                int driver = driver_from_string(word);

                if (driver == DRIVER_UAS || driver == DRIVER_USB_STORAGE)
                        driven(d, (enum driver) driver);
        } else if (sscanf(line, "#dev %31[0-9.-]=%u", port, &dev) == 2 && is_port(port) && (d = by_port(port, true)))
                d->facts.devnum = dev;
        else if (sscanf(line, "#facts %15s %31s %u %u %63s", host, port, &bus, &dev, word) == 5 && is_port(port) &&
                 (d = by_port(port, true))) {
                d->drives = true;
                d->facts.busnum = bus;
                d->facts.devnum = dev;
                (void) copy_string(d->host, sizeof(d->host), host);
                (void) copy_string(d->facts.controller_device, sizeof(d->facts.controller_device), word);
        }
        return line[0] == '#';
}

/* Removes colours and the carriage return. */
static void clean(char *line)
{
        char *to = line;

        for (const char *s = line; *s; s++) {
                if (s[0] == '\033' && s[1] == '[') {
                        s += 2;
                        s += strspn(s, "0123456789;");
                        if (!*s)
                                break;
                } else if (*s != '\r' && *s != '\n')
                        *to++ = *s;
        }
        *to = '\0';
}

static bool take_date(const char *s, usec_t *ret)
{
        static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%b %d %H:%M:%S", "%a %b %d %H:%M:%S %Y"};

        for (size_t i = 0; i < ELEMENTSOF(formats); i++) {
                struct tm tm = {.tm_year = 100, .tm_mday = 1};

                if (strptime(s, formats[i], &tm) && tm.tm_year >= 70) {
                        *ret = (usec_t) timegm(&tm) * USEC_PER_SEC;
                        return true;
                }
        }
        return false;
}

/* Returns the message of a line, or NULL. Without a time it has that of the line before. */
static const char *message(const char *line, usec_t *time)
{
        const char *kernel = strstr(line, " kernel: "), *text = line, *bracket;
        unsigned long sec;
        char fraction[8];
        usec_t date;
        int end = 0;

        if (take_date(line, &date)) {
                if (!kernel)
                        return NULL; /* a program's */
                *time = date;
                text = kernel + strlen(" kernel: ");
        }
        for (bracket = strchr(text, '['); bracket && bracket < text + 80; bracket = strchr(bracket + 1, '[')) {
                if (sscanf(bracket, "[%lu.%7[0-9]]%n", &sec, fraction, &end) == 2 && end > 0) {
                        usec_t usec = strtoul(fraction, NULL, 10);

                        for (size_t i = strlen(fraction); i < 6; i++)
                                usec *= 10;
                        *time = (usec_t) sec * USEC_PER_SEC + usec;
                        text = bracket + end;
                        kernel = strstr(text, " kernel: ");
                        break;
                }
                if (take_date(bracket + 1, &date) && strchr(bracket, ']')) {
                        *time = date;
                        text = strchr(bracket, ']') + 1;
                        break;
                }
        }
        if (kernel && kernel >= text && kernel < text + 80)
                text = kernel + strlen(" kernel: ");
        text += strspn(text, " ");
        end = 0;
        if (sscanf(text, "%*s %*[^[ ][%lu]: %n", &sec, &end) == 1 && end > 0) /* "HOST PROGRAM[PID]: " */
                return NULL;
        if (sscanf(text, "[%*[TC ]%lu]%n", &sec, &end) == 1 && end > 0) /* the caller */
                text += end;
        return text + strspn(text, " ");
}

static int usage(void)
{
        (void) fputs("usage: replay-log [--json] FILE (-: standard input)\n", stderr);
        return 2;
}

int main(int argc, char **argv)
{
        _cleanup_free_ char *log = NULL;
        char *line, *next;
        const char *file = NULL, *text;
        size_t size, n;
        usec_t usec = 0;
        FILE *in, *copy;
        char block[4096];

        for (int i = 1; i < argc; i++)
                if (streq(argv[i], "--json"))
                        json = true;
                else if (file || (argv[i][0] == '-' && argv[i][1]))
                        return usage();
                else
                        file = argv[i];
        if (!file)
                return usage();
        in = streq(file, "-") ? stdin : fopen(file, "re");
        copy = in ? open_memstream(&log, &size) : NULL;
        while (copy && (n = fread(block, 1, sizeof(block), in)) > 0)
                for (size_t i = 0; i < n; i++)
                        (void) fputc(block[i] ?: ' ', copy);
        if (!copy || ferror(in) || fclose(copy) != 0) {
                (void) fprintf(stderr, "%s: cannot read: %s\n", file, strerror(errno));
                return 1;
        }
        /* uas reports each reset; the kernel alone reports those of usb-storage. */
        without_uas = !strstr(log, "uas_") && !strstr(log, "uas-tag") && !strstr(log, ": uas");
        for (line = log; line; line = next) {
                struct kmsg k = {0};

                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';
                clean(line);
                if (directive(line) || !(text = message(line, &usec)))
                        continue;
                k.usec = usec;
                (void) copy_part(k.text, sizeof(k.text), text, strlen(text));
                weigh(&k);
        }
        if (json)
                (void) putchar('[');
        n = 0;
        for (size_t i = 0; i < n_disks; i++) {
                const struct replayed *d = disks + i;

                if (!d->drives && d->worst == FINDING_NONE)
                        continue;
                if (json)
                        printf("%s{\"port\":\"%s\",\"verdict\":\"%s\",\"cause\":\"%s\"}", n++ > 0 ? "," : "", d->facts.port,
                               verdict(d), blame_to_string(d->blame ?: BLAME_UNKNOWN));
                else
                        printf("%s: %s%s%s\n", d->facts.port, verdict(d), d->blame ? ", to blame: " : "",
                               d->blame ? blame_sentence(d->blame) : "");
        }
        if (json)
                (void) puts("]");
        return 0;
}
