/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* Builds JSON. Without memory the program ends: see need(). */

#define JSON_VERSION 1

json_object *json_new(void);
json_object *json_list(void);

/* All take ownership of value. NULL is null. */
void put(json_object *o, const char *key, json_object *value);
void append(json_object *list, json_object *value);

void put_string(json_object *o, const char *key, const char *s);
void put_string_or_null(json_object *o, const char *key, const char *s); /* "" is also null */
void put_hex(json_object *o, const char *key, uint16_t value);           /* four digits */
void put_int(json_object *o, const char *key, int64_t value);
void put_uint(json_object *o, const char *key, uint64_t value);
void put_bool(json_object *o, const char *key, bool value);
json_object *append_new(json_object *list); /* appends an object, and returns it */
void append_string(json_object *list, const char *s);

/* The text of a member; NULL: there is none, or it is null. */
const char *member(json_object *o, const char *key);
/* Frees *o, for _cleanup_. */
void json_putp(json_object **o);

/* {"version":1,key:value} */
json_object *json_document(const char *key, json_object *value);

/*
 * As text, in ASCII. Other characters are \uXXXX, so that neither a terminal nor a locale can misread the name of a device;
 * invalid UTF-8 is U+FFFD. Free it.
 */
char *json_text(json_object *o);

/* Sets the form of all further output: "short" (one line for each document) or "pretty". NULL: the usual one. 0 or -EINVAL. */
int json_open(const char *form);
/* Both print o and free it. The usual form of the second one is one line. */
void json_print(json_object *o);
void json_print_line(json_object *o);
