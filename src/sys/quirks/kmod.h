/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libkmod.h>

/*
 * libkmod loads libcrypto. To load both takes 3.5 million instructions, and uasd-switch needs 0.7
 * million from its start to the open of its disk. It is needed only if `uas` is not loaded yet, so
 * it is loaded only then.
 */
#define LIBKMOD "libkmod.so.2"

/* clang-format off */
#define KMOD_SYMBOLS(_) \
        _(new) _(unref) _(set_log_priority) _(list_next) \
        _(module_new_from_lookup) _(module_new_from_path) _(module_get_module) _(module_unref) _(module_unref_list) \
        _(module_get_path) _(module_get_install_commands) _(module_probe_insert_module) _(module_insert_module) \
        _(module_get_info) _(module_info_get_key) _(module_info_get_value) _(module_info_free_list) \
        _(module_get_symbols) _(module_symbol_get_symbol) _(module_symbol_get_crc) _(module_symbols_free_list) \
        _(module_get_dependency_symbols) _(module_dependency_symbol_get_symbol) _(module_dependency_symbol_get_bind) \
        _(module_dependency_symbol_get_crc) _(module_dependency_symbols_free_list) \
        _(config_get_blacklists) _(config_iter_next) _(config_iter_get_key) _(config_iter_free_iter)
/* clang-format on */

struct kmod {
        void *library;
        struct kmod_ctx *ctx;
#define KMOD_MEMBER(name) typeof(kmod_##name) *(name);
        KMOD_SYMBOLS(KMOD_MEMBER)
#undef KMOD_MEMBER
};

/* Returns 0, -ELIBACC if libkmod is missing, -ELIBBAD if it has not all of these functions, or
 * -ENOMEM. */
int kmod_fetch(struct kmod *k);
void kmod_done(struct kmod *k);
