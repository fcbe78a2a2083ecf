/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/view.h"

/*
 * --destroy-data: the disk's serial number has to be typed in, or to come on the standard input where that is
 * no terminal. A disk without one goes by its interface. True: so it was.
 */
bool ask_destroy(const struct view *v);
