/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/types.h"

#include "common/gettext.h"
#include "common/sentence.h"
#include "common/util.h"

static const char *const driver_names[_DRIVER_MAX] = {
        [DRIVER_NONE] = "none",
        [DRIVER_USB_STORAGE] = "usb-storage",
        [DRIVER_UAS] = "uas",
        [DRIVER_OTHER] = "other",
};

static const char *const policy_names[_POLICY_MAX] = {
        [POLICY_AUTO] = "auto",
        [POLICY_UAS] = "uas",
        [POLICY_USB_STORAGE] = "usb-storage",
        [POLICY_IGNORE] = "ignore",
};

static const char *const state_names[_STATE_MAX] = {
        [STATE_SETTLED] = "settled",     [STATE_HELD] = "held",
        [STATE_WAITING] = "waiting",     [STATE_SWITCHING] = "switching",
        [STATE_TRIAL] = "trial",         [STATE_FAILED] = "failed",
        [STATE_UNBOUND] = "unbound",     [STATE_IGNORED] = "ignored",
        [STATE_INCAPABLE] = "incapable",
};

static const char *const verdict_names[_VERDICT_MAX] = {
        [VERDICT_UNKNOWN] = "unknown",
        [VERDICT_GOOD] = "good",
        [VERDICT_BAD] = "bad",
};

static const char *const user_kind_names[_USER_KIND_MAX] = {
        [USER_MOUNT] = "mount", [USER_SWAP] = "swap", [USER_HOLDER] = "holder",
        [USER_OPEN] = "open",   [USER_LOOP] = "loop", [USER_CLAIM] = "claim",
};

static const char *const policy_source_names[_POLICY_SOURCE_MAX] = {
        [POLICY_BY_NOBODY] = "nobody",
        [POLICY_BY_CONFIG] = "config",
        [POLICY_BY_UDEV] = "udev",
        [POLICY_BY_USER] = "user",
};

const char *table_word(const char *const *names, size_t n, unsigned v)
{
        return v < n ? names[v] : NULL;
}

int table_find(const char *const *names, size_t n, const char *s)
{
        for (size_t i = 0; s && i < n; i++)
                if (names[i] && streq(names[i], s))
                        return (int) i;
        return -EINVAL;
}

DEFINE_STRINGS(driver)
DEFINE_STRINGS(policy)
DEFINE_STRINGS(policy_source)
DEFINE_STRINGS(state)
DEFINE_STRINGS(verdict)
DEFINE_STRINGS(user_kind)

const char *driver_or_empty(enum driver v)
{
        return v == DRIVER_NONE ? "" : driver_to_string(v);
}

char *policy_text(enum policy v, enum policy_source source, char *ret, size_t size)
{
        static const char *const texts[_POLICY_SOURCE_MAX] = {
                [POLICY_BY_CONFIG] = WITH_NAME("%s, by uasd.conf"),
                [POLICY_BY_UDEV] = WITH_NAME("%s, by a udev rule"),
                [POLICY_BY_USER] = WITH_NAME("%s, by uasctl policy"),
        };

        return sentence_with(table_word(texts, ELEMENTSOF(texts), source) ?: "%s",
                             policy_to_string(v) ?: "unknown", ret, size);
}
