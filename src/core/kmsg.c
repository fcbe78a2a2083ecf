/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/kmsg.h"

#include "common/gettext.h"
#include "common/util.h"
#include "core/types.h"

#define USB_MAJOR "c189:"
#define DEVICES_PER_BUS 128

/* ---- the record ---- */

int kmsg_parse(const char *record, struct kmsg *ret)
{
        unsigned long long head[3]; /* "priority,sequence,time,flags[,more];" */
        struct kmsg k = {0};
        const char *value;
        size_t n;

        for (size_t i = 0; i < ELEMENTSOF(head); i++)
                if (take_uint(&record, 10, UINT64_MAX, &head[i]) < 0 || *record++ != ',')
                        return -EINVAL;
        k.user = head[0] >> 3;
        k.seq = head[1];
        k.usec = head[2];
        record += strcspn(record, ";\n");
        if (*record++ != ';')
                return -EINVAL;
        n = strcspn(record, "\n");
        (void) copy_part(k.text, sizeof(k.text), record, n);
        while (record[n]) {
                record += n + 1;
                n = strcspn(record, "\n");
                value = startswith(record, " SUBSYSTEM=");
                if (value)
                        (void) copy_part(k.subsystem, sizeof(k.subsystem), value,
                                         n - (size_t) (value - record));
                value = startswith(record, " DEVICE=");
                if (value)
                        (void) copy_part(k.device, sizeof(k.device), value,
                                         n - (size_t) (value - record));
        }
        *ret = k;
        return 0;
}

/* ---- its meaning ---- */

enum source {
        FROM_SCSI,       /* a host or one of its devices */
        FROM_USB,        /* a USB device, or a port of a hub */
        FROM_CONTROLLER, /* of USB */
        FROM_ANYWHERE,
};

enum {
        FOLLOWS = 1 << 0,   /* as in struct sign */
        EXCUSES = 1 << 1,   /* as in struct sign */
        HANDLING = 1 << 2,  /* as in struct sign */
        RESETS = 1 << 3,    /* as in struct sign */
        HAS_ERRNO = 1 << 4, /* the number behind the text is an errno */
        BY_UAS = 1 << 5,    /* the driver of struct sign */
        BY_STORAGE = 1 << 6,
};

static const struct pattern {
        enum source source;
        enum blame blame;
        enum weight weight;
        unsigned flags;
        /*
         * Start of the message, behind "driver device: [sda] tag#1 ". Without a device it is longer
         * than the name of a process (15): the kernel begins some messages with that.
         */
        const char *text;
        const char *also; /* also contained, further on; empty: nothing follows */
        const char *what;
} patterns[] = {
        /* clang-format off */
        /* Both drivers: each attach of a host and each device at a port begins a new account. */
        {FROM_SCSI, BLAME_NONE, WEIGHT_NEW, BY_UAS, "uas", "", NULL},
        {FROM_SCSI, BLAME_NONE, WEIGHT_NEW, BY_STORAGE, "usb-storage ", NULL, NULL},
        {FROM_USB, BLAME_NONE, WEIGHT_NEW, 0, "new ", " USB device number ", NULL},
        {FROM_USB, BLAME_NONE, WEIGHT_GONE, 0, "USB disconnect, device number ", NULL, NULL},

        {FROM_ANYWHERE, BLAME_NONE, WEIGHT_SLEEP, 0, "PM: suspend entry", NULL, NULL},
        {FROM_ANYWHERE, BLAME_NONE, WEIGHT_AWAKE, 0, "PM: suspend exit", NULL, NULL},
        {FROM_ANYWHERE, BLAME_NONE, WEIGHT_SLEEP, 0, "PM: hibernation: hibernation entry", NULL, NULL},
        {FROM_ANYWHERE, BLAME_NONE, WEIGHT_AWAKE, 0, "PM: hibernation: hibernation exit", NULL, NULL},
        {FROM_ANYWHERE, BLAME_NONE, WEIGHT_SLEEP, 0, "PM: hibernation entry", NULL, NULL}, /* Linux up to 5.7 */
        {FROM_ANYWHERE, BLAME_NONE, WEIGHT_AWAKE, 0, "PM: hibernation exit", NULL, NULL},

        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_HIGH, HANDLING, "uas_eh_abort_handler ", NULL, N_("commands were not answered in time")},
        /* usb_lock_device_for_reset() returns ENODEV if the device has gone. If a hub was unplugged, its disks get their lines later. */
        {FROM_SCSI, BLAME_NONE, WEIGHT_GONE, 0, "uas_eh_", "_reset_handler FAILED to get lock err -19", NULL},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_FATAL, FOLLOWS | HANDLING, "uas_eh_", "_reset_handler FAILED", N_("a reset did not bring it back")},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_HIGH, HANDLING | RESETS, "uas_eh_", "_reset_handler start", N_("it had to be reset")},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_HIGH, FOLLOWS | HANDLING | RESETS, "uas_eh_", "_reset_handler ", N_("it had to be reset")},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_FATAL, FOLLOWS | HANDLING,
         "Device offlined - not ready after error recovery", NULL, N_("the kernel gave it up")},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_FATAL, FOLLOWS | HANDLING,
         "Medium access timeout failure. Offlining disk!", NULL, N_("the kernel gave it up")},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_HIGH, FOLLOWS | HANDLING, "uas_pre_reset: timed out", NULL, N_("commands were not answered in time")},
        /* Memory of the machine, and a command to the controller. No packet goes to the bridge. */
        {FROM_SCSI, BLAME_CONTROLLER, WEIGHT_HIGH, FOLLOWS,
         "uas_post_reset: alloc streams error ", NULL, N_("it had no streams after a reset")},
        {FROM_SCSI, BLAME_CONTROLLER, WEIGHT_HIGH, FOLLOWS,
         "uas_reset_resume: alloc streams error ", NULL, N_("it had no streams after a reset")},

        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_MEDIUM, HAS_ERRNO, "data cmplt err ", NULL, N_("data transfers failed")},
        {FROM_USB, BLAME_BRIDGE, WEIGHT_MEDIUM, HAS_ERRNO, "cmd cmplt err ", NULL, N_("command transfers failed")},
        {FROM_USB, BLAME_BRIDGE, WEIGHT_MEDIUM, HAS_ERRNO, "sense urb: status ", NULL, N_("status transfers failed")},
        {FROM_USB, BLAME_BRIDGE, WEIGHT_MEDIUM, HAS_ERRNO, "stat urb: status ", NULL, N_("status transfers failed")},
        {FROM_USB, BLAME_BRIDGE, WEIGHT_MEDIUM, 0, "stat urb: no pending cmd", NULL, N_("it answered without a command")},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_MEDIUM, 0, "unexpected status cmplt", NULL, N_("it answered without a command")},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_MEDIUM, 0, "unexpected read rdy ", NULL, N_("its answers break the rules of UAS")},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_MEDIUM, 0, "unexpected write rdy ", NULL, N_("its answers break the rules of UAS")},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_MEDIUM, 0, "bogus IU ", NULL, N_("its answers break the rules of UAS")},
        {FROM_SCSI, BLAME_BRIDGE, WEIGHT_MEDIUM, 0, "response iu ", NULL, N_("it refused commands of UAS")},
        {FROM_USB, BLAME_BRIDGE, WEIGHT_MEDIUM, FOLLOWS | RESETS, "reset ", " USB device number ", N_("it had to be reset")},

        /* The disk reports its own bad places, so the bridge works. Its retries may last longer than a command may. */
        {FROM_SCSI, BLAME_DISK, WEIGHT_MEDIUM, EXCUSES, "Sense Key : Medium Error ", NULL, N_("the disk could not read or write a place")},

        {FROM_USB, BLAME_CABLE, WEIGHT_MEDIUM, 0, "device descriptor read/", ", error ", N_("its descriptors could not be read")},
        {FROM_USB, BLAME_CABLE, WEIGHT_MEDIUM, 0, "can't read configurations, error ", NULL, N_("its descriptors could not be read")},
        {FROM_USB, BLAME_CABLE, WEIGHT_MEDIUM, 0, "device not accepting address ", NULL, N_("it did not take an address")},
        {FROM_USB, BLAME_CABLE, WEIGHT_MEDIUM, 0, "Device not responding to setup ", NULL, N_("it did not take an address")},
        {FROM_USB, BLAME_CABLE, WEIGHT_MEDIUM, 0, "connect-debounce failed", NULL, N_("its connection was not stable")},
        {FROM_USB, BLAME_CABLE, WEIGHT_MEDIUM, 0, "config error", "", N_("its connection was not stable")}, /* of a SuperSpeed link */
        {FROM_USB, BLAME_CABLE, WEIGHT_HIGH, 0,
         "Cannot enable. Maybe the USB cable is bad?", NULL, N_("its port could not be enabled")},
        {FROM_USB, BLAME_CABLE, WEIGHT_HIGH, 0, "unable to enumerate USB device", NULL, N_("it could not be enumerated")},

        /* Requests to the hub itself. A root hub is a part of the controller. */
        {FROM_USB, BLAME_HUB, WEIGHT_MEDIUM, EXCUSES | HAS_ERRNO, "hub_ext_port_status failed (err = ", NULL, N_("its hub did not answer")},
        {FROM_USB, BLAME_HUB, WEIGHT_MEDIUM, EXCUSES | HAS_ERRNO, "hub_hub_status failed (err = ", NULL, N_("its hub did not answer")},
        {FROM_USB, BLAME_HUB, WEIGHT_MEDIUM, EXCUSES | HAS_ERRNO, "hub_port_status failed (err = ", NULL, N_("its hub did not answer")}, /* Linux up to 4.7 */
        {FROM_USB, BLAME_HUB, WEIGHT_MEDIUM, EXCUSES, "get_hub_status failed", NULL, N_("its hub did not answer")},
        {FROM_USB, BLAME_HUB, WEIGHT_MEDIUM, EXCUSES | HAS_ERRNO, "cannot reset (err = ", NULL, N_("its hub did not answer")},
        {FROM_USB, BLAME_HUB, WEIGHT_MEDIUM, EXCUSES | HAS_ERRNO, "cannot warm reset (err = ", NULL, N_("its hub did not answer")},
        {FROM_USB, BLAME_HUB, WEIGHT_MEDIUM, EXCUSES | HAS_ERRNO, "cannot disable (err = ", NULL, N_("its hub did not answer")},

        {FROM_USB, BLAME_POWER, WEIGHT_FATAL, EXCUSES, "over-current ", NULL, N_("over-current at its port")},
        {FROM_USB, BLAME_POWER, WEIGHT_FATAL, EXCUSES, "disabled by hub (EMI?)", NULL, N_("its port was disabled by the hub")},
        {FROM_ANYWHERE, BLAME_POWER, WEIGHT_FATAL, EXCUSES, "Undervoltage detected!", NULL, N_("the machine's voltage was too low")},
        {FROM_ANYWHERE, BLAME_POWER, WEIGHT_FATAL, EXCUSES, "Under-voltage detected!", NULL, N_("the machine's voltage was too low")},

        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_FATAL, EXCUSES,
         "xHCI host not responding to stop endpoint command", NULL, N_("the controller stopped answering")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_FATAL, EXCUSES,
         "Abort failed to stop command ring: ", NULL, N_("the controller stopped answering")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_FATAL, EXCUSES, "WARNING: Host System Error", NULL, N_("the controller reported an error of its own")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_FATAL, EXCUSES, "WARNING: Host Controller Error", NULL, N_("the controller reported an error of its own")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_FATAL, EXCUSES, "controller firmware hang", NULL, N_("the controller reported an error of its own")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_FATAL, EXCUSES,
         "xHCI host controller not responding, assume dead", NULL, N_("the controller died")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_FATAL, EXCUSES, "Host controller not accessible, removed?", NULL, N_("the controller died")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_FATAL, EXCUSES, "HC died; cleaning up", NULL, N_("the controller died")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "ERROR Transfer event for ", NULL, N_("the controller mixed up its streams")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "Transfer event ", " for unknown stream ring ", N_("the controller mixed up its streams")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "WARN Set TR Deq Ptr cmd ", NULL, N_("the controller mixed up its streams")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "WARN Cannot submit Set TR Deq Ptr", NULL, N_("the controller mixed up its streams")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "Set TR Deq already pending, don't submit for ", NULL, N_("the controller mixed up its streams")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "WARN Set TR deq ptr command for freed stream ", NULL, N_("the controller mixed up its streams")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "Mismatch between completed Set TR Deq Ptr command ", NULL, N_("the controller mixed up its streams")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "ERROR Unknown event condition ", NULL, N_("the controller mixed up its transfers")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "ERROR Transfer event TRB DMA ptr not part of current TD", NULL, N_("the controller mixed up its transfers")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "Event dma ", " not part of TD ", N_("the controller mixed up its transfers")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0, "ERROR Invalid Transfer event", NULL, N_("the controller mixed up its transfers")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0, "WARN: TRB error for slot ", NULL, N_("the controller mixed up its transfers")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "ERROR mismatched command completion event", NULL, N_("the controller mixed up its commands")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "Command completion event does not match command", NULL, N_("the controller mixed up its commands")},
        {FROM_CONTROLLER, BLAME_CONTROLLER, WEIGHT_MEDIUM, 0,
         "WARN: HC couldn't access mem fast enough ", NULL, N_("the memory was too slow for the controller")},

        /* The machine did not answer interrupts, or had no memory. */
        {FROM_ANYWHERE, BLAME_HOST, WEIGHT_AROUND, EXCUSES, "watchdog: BUG: soft lockup - CPU#", NULL, N_("the machine stood still")},
        {FROM_ANYWHERE, BLAME_HOST, WEIGHT_AROUND, EXCUSES, "rcu: INFO: rcu_sched ", NULL, N_("the machine stood still")},
        {FROM_ANYWHERE, BLAME_HOST, WEIGHT_AROUND, EXCUSES, "rcu: INFO: rcu_preempt ", NULL, N_("the machine stood still")},
        {FROM_ANYWHERE, BLAME_HOST, WEIGHT_AROUND, EXCUSES, "Out of memory: Killed process ", NULL, N_("the machine had too little memory")},
        /* clang-format on */
};

/* Returns the text of "sd 0:0:0:0: [sda] tag#20 uas_eh_..." without its prefix. "Out of memory: "
 * is none: a device has no blank.
 */
static const char *kmsg_message(const struct kmsg *k, char *ret_device, size_t size)
{
        const char *space = strchr(k->text, ' '), *colon = strstr(k->text, ": "), *s;

        if (!space || !colon || colon < space ||
            memchr(space + 1, ' ', (size_t) (colon - space - 1)))
                return k->text;
        (void) copy_part(ret_device, size, space + 1, (size_t) (colon - space - 1));
        s = colon + 2;
        if (!streq(k->subsystem, "scsi"))
                return s;
        if (*s == '[' && strstr(s, "] "))
                s = strstr(s, "] ") + 2;
        if (startswith(s, "tag#") && strchr(s, ' '))
                s = strchr(s, ' ') + 1;
        return s;
}

/* "usb2-port1" is 2-1, "2-1-port3" is 2-1.3. A port has no subsystem, so its record has no fields.
 */
static bool kmsg_port(const char *name, char *ret, size_t size)
{
        const char *dash = strstr(name, "-port"), *bus = startswith(name, "usb");
        int n;

        if (!dash || dash == name || !dash[5] || dash[5 + strspn(dash + 5, "0123456789")])
                return false;
        n = (int) (dash - name);
        if (bus)
                (void) snprintf(ret, size, "%.*s-%s", n - 3, bus, dash + 5);
        else
                (void) snprintf(ret, size, "%.*s.%s", n, name, dash + 5);
        return true;
}

static bool place_scsi(const struct kmsg *k, struct sign *s)
{
        const char *name = startswith(k->device, "+scsi:");

        if (!name || !streq(k->subsystem, "scsi"))
                return false;
        s->place = PLACE_HOST;
        if (startswith(name, "host"))
                (void) copy_string(s->name, sizeof(s->name), name);
        else
                (void) snprintf(s->name, sizeof(s->name), "host%.*s", (int) strcspn(name, ":"),
                                name);
        return true;
}

static bool place_usb(const struct kmsg *k, const char *device, struct sign *s)
{
        const char *name;
        unsigned long long minor;

        if (!k->subsystem[0] && startswith(k->text, "usb ") &&
            kmsg_port(device, s->name, sizeof(s->name))) {
                s->place = PLACE_PORT;
                return true;
        }
        if (!streq(k->subsystem, "usb"))
                return false;
        if ((name = startswith(k->device, "+usb:"))) { /* not enumerated yet, or an interface */
                s->place = PLACE_PORT;
                (void) copy_part(s->name, sizeof(s->name), name, strcspn(name, ":"));
                return true;
        }
        name = startswith(k->device, USB_MAJOR);
        if (!name || parse_uint(name, 10, UINT16_MAX, &minor) < 0)
                return false;
        s->place = PLACE_DEVICE;
        (void) copy_string(s->name, sizeof(s->name), device);
        s->busnum = (unsigned) minor / DEVICES_PER_BUS + 1;
        s->devnum = (unsigned) minor % DEVICES_PER_BUS + 1;
        return true;
}

/* Any driver of a controller: HC died is a message of usbcore. */
static bool place_controller(const struct kmsg *k, struct sign *s)
{
        const char *name = startswith(k->device, "+pci:") ?: startswith(k->device, "+platform:");

        if (!name)
                return false;
        s->place = PLACE_CONTROLLER;
        (void) copy_string(s->name, sizeof(s->name), name);
        return true;
}

static bool sign_locate(enum source source, const struct kmsg *k, const char *device,
                        struct sign *s)
{
        if (source == FROM_SCSI)
                return place_scsi(k, s);
        if (source == FROM_USB)
                return place_usb(k, device, s);
        if (source == FROM_CONTROLLER)
                return place_controller(k, s);
        s->place = PLACE_MACHINE;
        return true;
}

/*
 * The cause that the errno of a transfer shows. BLAME_NONE: it was cancelled, or its device has
 * gone. A garbled transfer is a sign of a bad cable. With ENOSR and ECOMM the controller could not
 * read or write memory in time.
 */
static const struct {
        const char *number;
        enum blame blame;
} errnos[] = {
        {"-2", BLAME_NONE},   {"-19", BLAME_NONE},       {"-104", BLAME_NONE},
        {"-108", BLAME_NONE}, {"-62", BLAME_CABLE},      {"-71", BLAME_CABLE},
        {"-84", BLAME_CABLE}, {"-63", BLAME_CONTROLLER}, {"-70", BLAME_CONTROLLER},
};

/* Returns false if the sign has no meaning. */
static bool sign_take_errno(const char *number, struct sign *s)
{
        size_t n = strcspn(number, " )");

        for (size_t i = 0; i < ELEMENTSOF(errnos); i++) {
                if (n != strlen(errnos[i].number) || strncmp(number, errnos[i].number, n) != 0)
                        continue;
                if (errnos[i].blame == BLAME_NONE)
                        return false;
                if (s->blame == BLAME_BRIDGE)
                        s->blame = errnos[i].blame;
        }
        return true;
}

static bool pattern_matches(const struct pattern *p, const char *message, const char **ret_rest)
{
        const char *rest = startswith(message, p->text);

        if (!rest)
                return false;
        *ret_rest = rest;
        if (!p->also)
                return true;
        if (!*p->also)
                return *rest == '\0';
        return strstr(rest, p->also) != NULL;
}

bool sign_read(const struct kmsg *k, struct sign *ret)
{
        char device[64] = "";
        const char *message, *rest;

        if (k->user)
                return false;
        message = kmsg_message(k, device, sizeof(device));
        for (size_t i = 0; i < ELEMENTSOF(patterns); i++) {
                const struct pattern *p = patterns + i;
                struct sign s = {.blame = p->blame,
                                 .weight = p->weight,
                                 .follows = p->flags & FOLLOWS,
                                 .excuses = p->flags & EXCUSES,
                                 .handling = p->flags & HANDLING,
                                 .resets = p->flags & RESETS,
                                 .what = p->what};

                if (p->flags & BY_UAS)
                        s.driver = DRIVER_UAS;
                else if (p->flags & BY_STORAGE)
                        s.driver = DRIVER_USB_STORAGE;
                if (!pattern_matches(p, message, &rest) || !sign_locate(p->source, k, device, &s))
                        continue;
                if (p->flags & HAS_ERRNO && !sign_take_errno(rest, &s))
                        return false;
                *ret = s;
                return true;
        }
        return false;
}

const char *sign_what(const char *text)
{
        for (size_t i = 0; i < ELEMENTSOF(patterns); i++)
                if (patterns[i].what && streq(patterns[i].what, text))
                        return patterns[i].what;
        return NULL;
}

static const char *const blame_names[_BLAME_MAX] = {
        [BLAME_NONE] = "none",   [BLAME_BRIDGE] = "bridge", [BLAME_CABLE] = "cable",
        [BLAME_POWER] = "power", [BLAME_HUB] = "hub",       [BLAME_CONTROLLER] = "controller",
        [BLAME_DISK] = "disk",   [BLAME_HOST] = "host",     [BLAME_UNKNOWN] = "unknown",
};

DEFINE_STRINGS(blame)

const char *blame_sentence(enum blame b)
{
        static const char *const sentences[_BLAME_MAX] = {
                [BLAME_CABLE] = N_("the cable or a connector"),
                [BLAME_POWER] = N_("the power supply"),
                [BLAME_HUB] = N_("a hub above it"),
                [BLAME_CONTROLLER] = N_("the USB controller"),
                [BLAME_DISK] = N_("the disk itself"),
                [BLAME_HOST] = N_("the machine"),
                [BLAME_UNKNOWN] = N_("the disk, the cable, the power or the port"),
        };

        return sentences[b] ?: N_("the bridge");
}

/* startswith() for these three, one after the other. */
static const char *text_behind(const char *text, const char *driver, const char *name,
                               const char *event)
{
        text = startswith(text, driver);
        if (!text)
                return NULL;
        text = startswith(text, name);
        if (!text)
                return NULL;
        return startswith(text, event);
}

void kmsg_note_probe(const struct kmsg *k, const char *interface, int *error)
{
        char port[64];
        const char *number;
        unsigned long long v;

        if (k->user)
                return;
        (void) copy_part(port, sizeof(port), interface, strcspn(interface, ":"));
        /* The first form is of Linux up to 6.8, the second of later ones. */
        number = text_behind(k->text, "uas: probe of ", interface, " failed with error -")
                         ?: text_behind(k->text, "uas ", interface,
                                        ": probe with driver uas failed with error -");
        if (number) {
                if (parse_uint(number, 10, 4095, &v) >= 0)
                        *error = -(int) v;
        } else if (text_behind(k->text, "usb ", port, ": new "))
                *error = 0;
}
