/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libintl.h>

/* For the texts of uasctl. The other programs load no catalog, and stay English. */

#define _(s) gettext(s)
#define N_(s) s        /* marks a text that is translated where it is printed */
#define WITH_NAME(s) s /* marks a format with one %s, for sentence_with() */
/* A text that may be empty: gettext("") is the header of the catalog. */
#define translated(s) (*(s) ? gettext(s) : (s))
