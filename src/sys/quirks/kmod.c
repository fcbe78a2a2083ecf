/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/quirks/kmod.h"

#include <dlfcn.h>
#include <errno.h>

#include "common/util.h"

void kmod_done(struct kmod *k)
{
        if (k->ctx)
                (void) k->unref(k->ctx);
        if (k->library)
                (void) dlclose(k->library);
}

int kmod_fetch(struct kmod *k)
{
        const struct {
                const char *name;
                void *to;
        } symbols[] = {
#define KMOD_SYMBOL(name) {"kmod_" #name, &k->name},
                KMOD_SYMBOLS(KMOD_SYMBOL)};

        k->library = dlopen(LIBKMOD, RTLD_LAZY | RTLD_LOCAL);
        if (!k->library)
                return -ELIBACC;
        for (size_t i = 0; i < ELEMENTSOF(symbols); i++) {
                void *symbol = dlsym(k->library, symbols[i].name);

                if (!symbol)
                        return -ELIBBAD;
                memcpy(symbols[i].to, &symbol, sizeof(symbol));
        }
        k->ctx = k->new (NULL, NULL);
        if (!k->ctx)
                return -ENOMEM;
        k->set_log_priority(k->ctx, 0);
        return 0;
}
