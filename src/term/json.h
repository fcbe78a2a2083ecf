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

json_object *new_string(const char *s);
json_object *new_string_or_null(const char *s); /* "" is also null */
json_object *new_hex(uint16_t value);           /* four digits */
json_object *new_int(int64_t value);
json_object *new_uint(uint64_t value);
json_object *new_bool(bool value);

/* Adds members to an object, and returns it: put_members(o, {"name", new_string(name)}, {"size",
 * new_uint(size)}) */
struct json_member {
        const char *key;
        json_object *value; /* of which it takes ownership */
};
json_object *put_members_of(json_object *o, const struct json_member *members);
#define put_members(o, ...) put_members_of(o, (const struct json_member[]){__VA_ARGS__, {}})
/* A new object with them. */
#define json_make(...) put_members(json_new(), __VA_ARGS__)

/* The text of a member; NULL: there is none, or it is null. */
const char *member(json_object *o, const char *key);
/* Frees *o, for _cleanup_. */
void json_putp(json_object **o);

/* {"version":1,key:value} */
json_object *json_document(const char *key, json_object *value);

/*
 * As text, in ASCII. Other characters are \uXXXX, so that neither a terminal nor a locale can
 * misread the name of a device; invalid UTF-8 is U+FFFD. Free it.
 */
char *json_text(json_object *o);

/* A form of JSON for programs that translate its sentences, see common/sentence.h. */
#define JSON_IN_PARTS "parts"

/* Sets the form of all further output: "short" (one line for each document) or "pretty". NULL: the
 * usual one. 0 or -EINVAL. */
int json_open(const char *form);
/* Both print o and free it. The usual form of the second one is one line. */
void json_print(json_object *o);
void json_print_line(json_object *o);
