/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/util.h"
#include "sys/io/roots.h"

/*
 * udev's database of one device as /run/udev/data/ID holds it ("b8:0", "c189:2"): lines "E:KEY=VALUE", tags "G:" (all ever
 * given) and "Q:" (given at the last event). Read as text, so that what runs at every block event links nothing.
 */

#define UDEVDB_ID_MAX 40

/* "c189:2" of the USB device at this port, from sysfs. False if there is none. */
bool udevdb_usb_id(const struct roots *r, const char *port, char ret[static UDEVDB_ID_MAX]);
/* 1 and the value; 0 if there is no such property or device; -errno. */
int udevdb_property(const struct roots *r, const char *id, const char *key, char *ret, size_t size);
/* When udev was done with the first event of this device, in usec of CLOCK_MONOTONIC: 1 and the time; 0 if it was not yet;
 * -errno. */
int udevdb_initialized(const struct roots *r, const char *id, usec_t *ret_usec);
/* True if the device ever carried the tag. */
bool udevdb_tagged(const struct roots *r, const char *id, const char *tag);
/* "\x20" back to " ", in place, as udev writes ID_MODEL_ENC and the like. What is no such escape stays as it is. */
void udevdb_decode(char *s);
