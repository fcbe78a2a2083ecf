/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define SYSLOGD_FILE_MAX (64 * 1024) /* of each of the two files, in bytes */

/*
 * Sends a line, "PROGRAM: MESSAGE\n", to the syslogd that listens on the socket. If none does, the
 * line is added to the file FOLDER/log, which becomes log.1 when it is full. syslog(3) would wait
 * for a syslogd that hangs.
 */
void syslogd_send(const char *socket_path, const char *folder, int level, const char *line);
