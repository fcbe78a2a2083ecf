/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench/measure/fio.h"

/* Fills a file that is empty with what no drive and no file system can squeeze, by fio. As fio_run(). */
int lay_out(const char *path, uint64_t size, fio_progress_t cb, void *userdata, char **ret_why);
