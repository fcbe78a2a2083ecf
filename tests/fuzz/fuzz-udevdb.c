/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* udev's record of a device, which is the whole input. Its properties come from the device through
 * udev's rules. */
#include "sys/udev/udevdb.h"

#include "common/names.h"
#include "core/bridge-db.h"
#include "fuzz.h"

static const char *const keys[] = {PROP_HOLD,         PROP_POLICY,    PROP_VERDICT,
                                   "ID_SERIAL_SHORT", "ID_MODEL_ENC", "X"};

static void check_decode(const char *value)
{
        size_t n = strlen(value);
        char *s = fuzz_text((const uint8_t *) value, n);

        unescape(s);
        CHECK(strlen(s) <= n);
        CHECK(strchr(value, '\\') || streq(s, value));
        free(s);
}

/* A value that udev writes is read unchanged. */
static void check_round_trip(const struct roots *r, const char *value)
{
        char *record = NULL, read[128];
        uint64_t usec;
        int n = asprintf(&record,
                         "S:disk/by-id/x\nE:OTHER=1\nE:UASD_POLICY=%s\nG:systemd\nQ:systemd\n",
                         value),
            k;

        CHECK(n > 0);
        fuzz_file(r->run, RUN_UDEV_DATA "/b8:0", record, (size_t) n);
        free(record);
        k = udevdb_property(r, "b8:0", PROP_POLICY, read, sizeof(read));
        if (strlen(value) < sizeof(read))
                CHECK(k == 1 && streq(read, value));
        else
                CHECK(k == -ENAMETOOLONG);
        CHECK(udevdb_initialized(r, "b8:0", &usec) == 0);
        record = udevdb_read(r, "b8:0");
        CHECK(udevdb_has_tag(record, "systemd") && !udevdb_has_tag(record, "system"));
        free(record);
}

static int get(const void *record, const char *key, char *ret, size_t size)
{
        return udevdb_get(record, key, ret, size);
}

/* The verdict from the hwdb, also with local files and records in another format. */
static void check_database(const struct roots *r)
{
        char *record = udevdb_read(r, "b8:0");
        struct db_entry e;
        struct db_word w;

        (void) udevdb_has_tag(record, "systemd");
        (void) db_fill(&e, get, record);
        free(record);
        CHECK(e.n_says <= DB_SAYS_MAX && strlen(e.chip) < sizeof(e.chip));
        for (size_t i = 0; i < e.n_says; i++)
                CHECK(e.says[i].bcd_min <= e.says[i].bcd_max && e.says[i].host[0] &&
                      e.says[i].source[0] && e.says[i].date[0]);
        db_weigh(&e, 0x0214, "x86_64", &w);
        CHECK(verdict_to_string(w.verdict) && !(w.conflict && w.verdict != VERDICT_UNKNOWN));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct roots *r = fuzz_roots();
        char *text = fuzz_text(data, size), *rest = text, value[96];
        uint64_t usec;

        fuzz_file(r->run, RUN_UDEV_DATA "/b8:0", data, size);
        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                int k = udevdb_property(r, "b8:0", keys[i], value, sizeof(value));

                CHECK(k == 0 || k == 1 || k == -ENAMETOOLONG);
                CHECK(k != 1 || strlen(value) < sizeof(value));
                if (k == 1)
                        check_decode(value);
        }
        check_database(r);
        (void) udevdb_initialized(r, "b8:0", &usec);
        check_decode(fuzz_field(&rest, '\n'));
        check_round_trip(r, text);
        free(text);
        return 0;
}
