/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/property.h"

struct views {
        struct view *list;
        size_t n;
};

/* Returns true if the disk is on uas and should be on usb-storage. */
bool view_leaves_uas(const struct view *v);
void view_done(struct view *v);
void views_done(struct views *v);
void views_add(struct views *v, struct view *item); /* takes ownership of the contents of item */
void views_sort(struct views *v);                   /* 2-2 before 2-10 */
struct view *views_find(const struct views *v, const char *interface);

/* uasd alone knows this of a disk. */
struct course {
        char interface[INTERFACE_NAME_MAX];
        char former[64]; /* "sda sdb": its block devices before the switch under way */
        enum state state;
        enum driver target;
        enum verdict verdict;
        bool cancelled;
        usec_t since, ends; /* as in struct view */
        char reason_id[64]; /* of a newer uasd: perhaps a word that is unknown here */
        char *inhibited;    /* the last six as in struct disk */
        char lease[LEASE_TEXT_MAX];
        struct outcome outcome;
        struct user *users;
        size_t n_users;
};

struct courses {
        struct course *list;
        size_t n;
};

void courses_done(struct courses *l);
struct course *courses_find(const struct courses *l, const char *interface);
/* Moves its course to a disk. users: its users, too. The sentences stay those of before. */
void view_take_course(struct view *v, struct course *course, bool users);

/* "2-1:1.0 (sdb)", for messages. */
#define VIEW_LABEL_MAX (INTERFACE_NAME_MAX + 64)
const char *view_label(const struct view *v, char ret[static VIEW_LABEL_MAX]);
#define VIEW_LABEL(v) view_label(v, (char[VIEW_LABEL_MAX]){})
/* "sda", or without a block device its port. */
const char *view_name(const struct view *v);
/* "sdb sdc", or "-". */
char *view_block_names(const struct view *v, char *ret, size_t size);
/* The driver's name, or NULL without one. */
const char *view_driver(const struct view *v);
/* The reason in one word (core/explain.c); a newer daemon's own word, if it is unknown here. */
const char *view_why(const struct view *v);
/* True: it is on usb-storage and should be on uas, which is faster. */
bool view_is_slower(const struct view *v);
/* The driver that it should have, or NULL: the present one. */
const char *view_target(const struct view *v);
bool view_capable(const struct view *v);
/* "Maker Product", as reported by the device. */
char *view_product(const struct view *v, char *ret, size_t size);
/* "mounted on /mnt/usb (sdb1)" */
char *user_text(const struct user *u, char *ret, size_t size);
/* "1.8T" */
char *size_text(uint64_t size, char *ret, size_t n);

/* True for held, waiting, switching: a change is pending. */
bool state_is_pending(enum state s);
