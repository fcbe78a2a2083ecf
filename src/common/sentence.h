/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "common/util.h"

/*
 * The sentences that uasctl prints are made in several programs, and only uasctl knows the
 * language. So uasd and uasd-switch hand a sentence over in parts: the format, and its values as
 * text. A value may be such a sentence, too.
 */
enum sentence_form {
        SENTENCE_ENGLISH,    /* the default */
        SENTENCE_TRANSLATED, /* uasctl, for a person */
        SENTENCE_IN_PARTS,   /* uasd and uasd-switch: the reader fills in the values */
};

void sentences_have(enum sentence_form form);

/* Writes a sentence in the form of this program. Values with a blank are sentences or clauses of
 * their own, and are translated too. */
char *sentence(char *ret, size_t size, const char *format, ...) _printf_(3, 4);
_printf_(3, 0) char *sentence_valist(char *ret, size_t size, const char *format, va_list ap);
/* The same for a format of a table. It has one conversion, or none. */
char *sentence_with(const char *format, const char *name, char *ret, size_t size);
/* The same as sentence(), at the end of ret. */
void sentence_add(char *ret, size_t size, const char *format, ...) _printf_(3, 4);

/*
 * Writes a text that another program or function has made, in the form of this program, or in
 * English. Only the conversions of a format are replaced, whatever they are: it is never given to
 * printf(). A value that is missing is left out.
 */
bool sentence_is_in_parts(const char *s);
char *sentence_fill(const char *s, char *ret, size_t size);
char *sentence_english(const char *s, char *ret, size_t size);
