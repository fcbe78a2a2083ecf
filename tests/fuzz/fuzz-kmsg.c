/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records of /dev/kmsg, with a NUL between: programs write there too, and the kernel prints names
 * that devices report. */
#include "core/trouble.h"

#include "fuzz.h"

static bool known(enum weight w)
{
        return w <= WEIGHT_AWAKE;
}

/* A record that is made of these fields is parsed as these fields. */
static void check_round_trip(const struct kmsg *k)
{
        char record[512];
        struct kmsg again;
        int n = snprintf(record, sizeof(record), "%u,%llu,%llu,-;%s\n SUBSYSTEM=%s\n DEVICE=%s\n",
                         k->user ? 11U : 3U, (unsigned long long) k->seq,
                         (unsigned long long) k->usec, k->text, k->subsystem, k->device);

        CHECK(n > 0 && (size_t) n < sizeof(record));
        CHECK(kmsg_parse(record, &again) == 0);
        CHECK(k->user == again.user && k->seq == again.seq && k->usec == again.usec &&
              streq(k->text, again.text) && streq(k->subsystem, again.subsystem) &&
              streq(k->device, again.device));
}

static void check_trouble(struct trouble *t, const struct sign *s, uint64_t usec)
{
        struct finding f;

        trouble_take(t, s, usec, &f);
        CHECK(t->n <= BURSTS_MAX);
        CHECK(f.finding <= FINDING_BROKEN && f.blame < _BLAME_MAX);
        CHECK(f.finding != FINDING_BROKEN ||
              (f.blame == BLAME_BRIDGE && t->driver != DRIVER_USB_STORAGE));
        CHECK(f.finding != FINDING_CLEARED ||
              (f.blame != BLAME_BRIDGE && t->driver == DRIVER_USB_STORAGE));
        CHECK((f.finding != FINDING_BLAMED && f.finding != FINDING_BROKEN) || f.what);
        CHECK(blame_sentence(f.blame) &&
              blame_from_string(blame_to_string(f.blame)) == (int) f.blame);
}

static void check_one(const uint8_t *data, size_t size, struct trouble *t)
{
        static const struct facts facts = {.interface = "2-1:1.0",
                                           .port = "2-1",
                                           .busnum = 2,
                                           .devnum = 5,
                                           .controller = "xhci_hcd"};
        char *exact = calloc(size + 1, 1);
        struct kmsg k = {.seq = 12345};
        struct sign s;
        int r;

        CHECK(exact);
        memcpy(exact, data, size); /* ASan lets strndup() read no memory without a NUL */
        r = kmsg_parse(exact, &k);
        free(exact);
        CHECK(r == 0 || r == -EINVAL);
        if (r < 0) {
                CHECK(k.seq == 12345); /* written only on success */
                return;
        }
        check_round_trip(&k);
        if (!sign_read(&k, &s))
                return;
        CHECK(!k.user);
        CHECK(s.place <= PLACE_MACHINE && s.blame < _BLAME_MAX && known(s.weight));
        CHECK(strlen(s.name) < sizeof(s.name));
        CHECK(s.blame == BLAME_NONE || s.what);
        (void) sign_about(&s, &facts, "host0", &s);
        check_trouble(t, &s, k.usec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct trouble t;

        t = (struct trouble){0};
        while (size > 0) {
                const uint8_t *nul = memchr(data, 0, size);
                size_t n = nul ? (size_t) (nul - data) : size;

                check_one(data, n, &t);
                n += nul != NULL;
                data += n;
                size -= n;
        }
        return 0;
}
