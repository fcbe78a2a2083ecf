/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "common/util.h"

/*
 * old-kernel VERSION PROGRAM...: runs a program without the system calls that came after this Linux
 * version. They fail with ENOSYS, and fcntl() does not know OFD locks before 3.15. uevents and
 * sysfs stay those of the kernel that runs. Exits with 77 if a filter cannot be set here.
 */

#define VERSION(major, minor) ((major) *100 + (minor))

static const struct {
        int call, since;
} calls[] = {
        {SYS_renameat2, VERSION(3, 15)},
        {SYS_getrandom, VERSION(3, 17)},
        {SYS_memfd_create, VERSION(3, 17)},
        {SYS_execveat, VERSION(3, 19)},
        {SYS_copy_file_range, VERSION(4, 5)},
        {SYS_statx, VERSION(4, 11)},
        {SYS_pidfd_send_signal, VERSION(5, 1)},
        {SYS_io_uring_setup, VERSION(5, 1)},
        {SYS_open_tree, VERSION(5, 2)},
        {SYS_move_mount, VERSION(5, 2)},
        {SYS_fsopen, VERSION(5, 2)},
        {SYS_pidfd_open, VERSION(5, 3)},
        {SYS_clone3, VERSION(5, 3)},
        {SYS_openat2, VERSION(5, 6)},
        {SYS_pidfd_getfd, VERSION(5, 6)},
        {SYS_faccessat2, VERSION(5, 8)},
        {SYS_close_range, VERSION(5, 9)},
        {SYS_mount_setattr, VERSION(5, 12)},
};

static struct sock_filter filter[2 * ELEMENTSOF(calls) + 16];
static unsigned short n_filter;

static void filter_add(unsigned code, unsigned k, unsigned yes, unsigned no)
{
        filter[n_filter++] = (struct sock_filter) BPF_JUMP((unsigned short) code, k,
                                                           (unsigned char) yes, (unsigned char) no);
}

static void filter_fail(int error)
{
        filter_add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned) error, 0, 0);
}

static void filter_load(size_t at)
{
        filter_add(BPF_LD | BPF_W | BPF_ABS, (unsigned) at, 0, 0);
}

static void filter_build(int version)
{
        filter_load(offsetof(struct seccomp_data, nr));
        for (size_t i = 0; i < ELEMENTSOF(calls); i++) {
                if (calls[i].since <= version)
                        continue;
                filter_add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) calls[i].call, 0, 1);
                filter_fail(ENOSYS);
        }
        if (version < VERSION(3, 15)) {
                filter_add(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 4);
                filter_load(offsetof(struct seccomp_data, args[1]));
                filter_add(BPF_JMP | BPF_JGE | BPF_K, F_OFD_GETLK, 0, 2);
                filter_add(BPF_JMP | BPF_JGT | BPF_K, F_OFD_SETLKW, 1, 0);
                filter_fail(EINVAL);
        }
        filter_add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

int main(int argc, char **argv)
{
        struct sock_fprog program = {.filter = filter};
        unsigned version[2];

        if (argc < 3 || !parse_numbers(argv[1], '.', version, 2)) {
                (void) fprintf(stderr, "usage: old-kernel VERSION PROGRAM...\n");
                return 2;
        }
        filter_build((int) VERSION(version[0], version[1]));
        program.len = n_filter;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
                perror("old-kernel");
                return 77;
        }
        (void) execvp(argv[2], argv + 2);
        perror(argv[2]);
        return 127;
}
