/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/feature/eject.h"

#include <sys/wait.h>

#include "common/exit-codes.h"
#include "common/log.h"
#include "common/names.h"
#include "daemon/queue.h"
#include "daemon/work/spawn.h"

/*
 * A uasd-switch that ejects a disk. It waits for a switch that is under way, and takes the lock of the disk. So a switch that is
 * wanted meanwhile finds the lock held, as that of a foreign switch. The entry is removed when the disk has gone, like that of a
 * disk that was unplugged.
 */
struct eject {
        struct eject *next;
        struct manager *manager;
        char interface[INTERFACE_NAME_MAX];
        pid_t pid;
        sd_event_source *child, *output;
        struct switch_output said;
        sd_bus_message *call; /* to be answered */
};

static void eject_free(struct eject *j)
{
        for (struct eject **at = &j->manager->ejects; *at; at = &(*at)->next)
                if (*at == j) {
                        *at = j->next;
                        break;
                }
        sd_event_source_disable_unref(j->child);
        sd_event_source_disable_unref(j->output);
        sd_bus_message_unref(j->call);
        (void) close_keep_errno(j->said.fd);
        free(j);
}

void ejects_free(struct manager *m)
{
        while (m->ejects)
                eject_free(m->ejects);
}

static int on_output(sd_event_source *s, int fd, uint32_t revents, void *data)
{
        struct eject *j = data;

        switch_output_read(&j->said, NULL, NULL);
        if (revents & EPOLLHUP)
                (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return 0;
}

static void answer(struct eject *j)
{
        const struct outcome *o = &j->said.outcome;
        char text[sizeof(o->text) * 4];
        const char *error = o->code == UASD_EXIT_DEFERRED  ? UASD_BUS_ERROR_IN_USE
                            : o->code == UASD_EXIT_REFUSED ? UASD_BUS_ERROR_REFUSED
                            : o->code == UASD_EXIT_NO_DISK ? UASD_BUS_ERROR_NO_SUCH_DISK
                                                           : SD_BUS_ERROR_FAILED;

        (void) make_harmless(o->text[0] ? o->text : "uasd-switch has died", text, sizeof(text));
        if (o->code == UASD_EXIT_OK)
                (void) sd_bus_reply_method_return(j->call, NULL);
        else
                (void) sd_bus_reply_method_errorf(j->call, error, "%s cannot be ejected: %s", j->interface, text);
        log_notice("%s: %s%s", j->interface, o->code == UASD_EXIT_OK ? "" : "not ejected: ", text);
}

static int on_exit_of_child(sd_event_source *s, const siginfo_t *si, void *data)
{
        struct eject *j = data;

        switch_output_read(&j->said, NULL, NULL);
        answer(j);
        queue_rescan(j->manager, j->interface);
        eject_free(j);
        return 0;
}

int eject_new(struct entry *e, sd_bus_message *call)
{
        struct manager *m = e->manager;
        struct eject *j = calloc(1, sizeof(*j));
        char *argv[] = {(char *) PROGRAM_SWITCH, (char *) "--machine", (char *) "--eject", e->life.disk.facts.interface, NULL};
        int r;

        if (!j)
                return -ENOMEM;
        *j = (struct eject){.next = m->ejects, .manager = m, .said = {.fd = -1, .outcome.code = -1}};
        memcpy(j->interface, e->life.disk.facts.interface, sizeof(j->interface));
        m->ejects = j;
        r = spawn_switch(argv, NULL, &j->said.fd, &j->pid);
        if (r >= 0)
                r = sd_event_add_child(m->event, &j->child, j->pid, WEXITED, on_exit_of_child, j);
        if (r >= 0)
                r = sd_event_add_io(m->event, &j->output, j->said.fd, EPOLLIN, on_output, j);
        if (r < 0) {
                eject_free(j);
                return r;
        }
        j->call = sd_bus_message_ref(call);
        return 0;
}
