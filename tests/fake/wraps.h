/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "switch/report.h"
#include "switch/tasks.h"
#include "switch/transaction.h"
#include "sys/block/claim.h"
#include "sys/io/clock.h"
#include "sys/io/pid1.h"
#include "sys/io/record.h"
#include "sys/state/switch-record.h"
#include "sys/udev/uevents.h"
#include "sys/usb/usbdisk.h"

/* The names of -Wl,--wrap=NAME; the list of them is in meson.build. */
#define WRAPPED(type, name, ...)                                                                   \
        type __wrap_##name(__VA_ARGS__);                                                           \
        type __real_##name(__VA_ARGS__)

WRAPPED(int, openat64, int dirfd, const char *path, int flags, ...);
WRAPPED(int, __openat64_2, int dirfd, const char *path, int flags);
WRAPPED(int, fstat64, int fd, struct stat *st);
WRAPPED(int, fstatat64, int dirfd, const char *path, struct stat *st, int flags);
WRAPPED(int, flock, int fd, int operation);
WRAPPED(int, switch_lock_take, int fd, enum switch_lock which);
WRAPPED(int, fsync, int fd);
WRAPPED(int, ioctl, int fd, unsigned long request, ...);
WRAPPED(_printf_(2, 3) void, log_full, int level, const char *format, ...);
WRAPPED(int, poll, struct pollfd *fds, nfds_t n, int timeout);
WRAPPED(int, inotify_init1, int flags);
WRAPPED(int, inotify_add_watch, int fd, const char *path, uint32_t mask);
WRAPPED(void, claim_close, struct claim *c);
WRAPPED(enum disturbance, claim_disturbed, const struct claim *c);
WRAPPED(int, claim_stop, const struct claim *c, size_t i);
WRAPPED(int, driver_opens, const struct roots *r, enum driver d);
WRAPPED(int, attr_write, int dirfd, const char *path, const char *text);
WRAPPED(ssize_t, attr_read, int dirfd, const char *path, char *ret, size_t size);
WRAPPED(int, socketpair, int domain, int type, int protocol, int ret[2]);
WRAPPED(int, usleep, useconds_t usec);
WRAPPED(pid_t, waitpid, pid_t pid, int *ret_status, int options);
WRAPPED(int, luns_read, int interface_fd, char ret_host[static 16], struct lun **ret,
        size_t *ret_n);
WRAPPED(int, usb_disk_read, const struct roots *r, const char *interface, bool strings,
        struct usb_disk *ret);
WRAPPED(int, users_find, const struct roots *r, const struct lun *luns, size_t n_luns, bool deep,
        struct user **ret, size_t *ret_n);
WRAPPED(int, state_load, int dirfd, const char *path, const struct state_type *type, void *record);
WRAPPED(int, state_mkdir, int dirfd, const char *path);
WRAPPED(int, state_write, int dirfd, const char *path, const char *text, bool durable);
WRAPPED(int, state_remove, int dirfd, const char *path);
WRAPPED(int, fingerprint_read, const struct claim *c, bool partly, char **ret, struct unread *u);
WRAPPED(int, trial_reads, const struct roots *r, const struct claim *c, struct awake deadline,
        struct unread *u);
WRAPPED(int, unread_again, const struct claim *c, struct unread *u);
WRAPPED(int, unread_control, const struct claim *c, unsigned lun);
WRAPPED(int, uas_module_load, const struct roots *r, const char *module, char *why);
WRAPPED(uint64_t, now_and_asleep, uint64_t *ret_asleep);
WRAPPED(uint64_t, now_boottime, void);
WRAPPED(struct awake, now_awake, void);
WRAPPED(int, uevents_open, enum uevents which, struct udev_monitor **ret);
WRAPPED(void, uevents_close, struct udev_monitor *m);
WRAPPED(int, uevents_fd, struct udev_monitor *m);
WRAPPED(int, uevents_next, struct udev_monitor *m, struct uevent *ret);
WRAPPED(int, pid1_there, const struct roots *r);
WRAPPED(int, pid1_ask, const char *verb, const char *what, struct pid1_question *ret);
WRAPPED(int, pid1_answer, struct pid1_question *q, struct awake deadline);
WRAPPED(void, pid1_forget, struct pid1_question *q);
WRAPPED(int, pid1_ask_and_wait, const char *verb, const char *what, struct awake deadline);
WRAPPED(void, report_claim, const struct transaction *t);
WRAPPED(void, report_step, const struct transaction *t);
WRAPPED(void, report_user, const struct transaction *t, const struct user *u);
