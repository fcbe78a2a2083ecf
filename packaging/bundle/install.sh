#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Installs the uasd of this folder, as root:
#
#     ./install.sh [--init=NAME] [--no-start] [FOLDER]    FOLDER instead of /opt/uasd, which then is a link to it
#     ./install.sh --check [--init=NAME]                  changes nothing: says what would work on this machine
#     ./install.sh --remove [--purge]                     undoes it; --purge deletes the settings of the disks, too
#     ./install.sh --show --init=NAME                     prints the start script, for a package of the system
#
# NAME: systemd, openrc, sysvinit, runit, s6, procd, busybox, or none, which writes no start script.
set -u
umask 022

prefix=/opt/uasd
here=$(cd "$(dirname "$0")" && pwd -P) || exit 1
daemon=$prefix/lib/uasd/uasd
inits='systemd openrc sysvinit runit s6 procd busybox none'
mark='# written by install.sh of uasd'

say() {
        printf '%s\n' "$*"
}

die() {
        printf 'install.sh: %s\n' "$*" >&2
        exit 1
}

has() {
        command -v "$1" >/dev/null 2>&1
}

# The name of the program that is process 1.
first_program() {
        program=$(readlink /proc/1/exe 2>/dev/null) || program=
        printf '%s\n' "${program##*/}"
}

# The folder that s6-svscan watches.
s6_folder() {
        for process in /proc/[0-9]*; do
                if [ "$(cat "$process/comm" 2>/dev/null)" = s6-svscan ]; then
                        folder=$(tr '\0' '\n' <"$process/cmdline" | sed -n '2,$p' | grep '^/' | tail -n 1)
                        [ ! -d "$folder" ] || { printf '%s\n' "$folder"; return 0; }
                fi
        done
        for folder in /etc/s6/service /service; do
                [ ! -d "$folder" ] || { printf '%s\n' "$folder"; return 0; }
        done
        return 1
}

# The folder that runit watches.
runit_folder() {
        for folder in /var/service /etc/service /service; do
                [ ! -d "$folder" ] || { printf '%s\n' "$folder"; return 0; }
        done
        return 1
}

find_init() {
        if [ -d /run/systemd/system ]; then echo systemd
        elif [ -d /run/openrc ]; then echo openrc
        elif [ "$(first_program)" = procd ]; then echo procd
        elif [ "$(first_program)" = runit ]; then echo runit
        elif [ "$(first_program)" = s6-svscan ]; then echo s6
        elif [ "$(first_program)" = busybox ] && [ -e /etc/inittab ]; then echo busybox
        elif [ -d /etc/init.d ] && { [ -d /etc/rc2.d ] || [ -d /etc/rc.d ]; }; then echo sysvinit
        else echo none
        fi
}

# Where the start script of $init goes.
script_of() {
        case $init in
        systemd) echo /etc/systemd/system/uasd.service ;;
        openrc | sysvinit | procd) echo /etc/init.d/uasd ;;
        runit) folder=$(runit_folder) && echo "$folder/uasd" ;;
        s6) folder=$(s6_folder) && echo "$folder/uasd" ;;
        busybox) echo /etc/inittab ;;
        none) echo '' ;;
        esac
}

write_systemd() {
        # As the package's unit, where no udev rule of uasd holds a disk. An old systemd ignores what it does not know.
        cat <<END
$mark
[Unit]
Description=USB Disk Driver Switcher
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target

[Service]
Type=notify
ExecStart=$daemon
Restart=on-failure
RestartSec=2s
KillMode=process
LimitNOFILE=65536
Nice=-10
Slice=-.slice
RuntimeDirectory=uasd
RuntimeDirectoryPreserve=yes
NoNewPrivileges=yes
UMask=0077

[Install]
WantedBy=sysinit.target
END
}

write_openrc() {
        cat <<END
#!/sbin/openrc-run
$mark
description="USB Disk Driver Switcher"
supervisor=supervise-daemon
command=$daemon
retry=TERM/30
supervise_daemon_args="--nicelevel -10"
respawn_delay=2
# One that ends each time is not started for ever. That count begins anew each minute.
respawn_max=10
respawn_period=60

depend() {
        use sysfs
        after root
        before localmount
        keyword -containers
}
END
}

write_sysvinit() {
        cat <<END
#!/bin/sh
$mark
### BEGIN INIT INFO
# Provides:          uasd
# Required-Start:    mountkernfs
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:
# Short-Description: USB Disk Driver Switcher
### END INIT INFO
daemon=$daemon
END
        cat <<'END'

# Every uasd, also of the version before, and asked by a user who is not root. A file with its number could be that of another start.
running() {
        pids=
        # shellcheck disable=SC2013 # no name has a blank
        for file in $(grep -ls "^$daemon" /proc/[0-9]*/cmdline); do
                pid=${file#/proc/}
                [ "$(tr '\0' '\n' 2>/dev/null <"$file" | head -n 1)" != $daemon ] || pids="$pids ${pid%/cmdline}"
        done
        [ -n "$pids" ]
}

# A switch that has begun goes on: only uasd itself gets the signal. It has no command line any more some time before the kernel
# ends its lock.
stop() {
        running || return 0
        # shellcheck disable=SC2086 # several
        kill $pids
        n=0
        for pid in $pids; do
                while grep -qs '^State:.[^ZX]' "/proc/$pid/status" && [ $n -lt 30 ]; do
                        n=$((n + 1))
                        sleep 1
                done
        done
        ! running
}

start() {
        running && return 0
        sooner='nice -n -10'
        command -v nice >/dev/null || sooner= # not every busybox has it
        $sooner $daemon </dev/null >/dev/null 2>&1 &
        # Until the shell has become uasd.
        n=0
        until running; do
                [ $n -lt 10 ] || return 1
                n=$((n + 1))
                sleep 1
        done
}

case ${1:-} in
start) start ;;
stop) stop ;;
restart | force-reload) stop && start ;;
status) running || exit 3 ;;
*) echo "usage: $0 start|stop|restart|status" >&2; exit 2 ;;
esac
END
}

write_procd() {
        cat <<END
#!/bin/sh /etc/rc.common
$mark
USE_PROCD=1
START=12
STOP=90

start_service() {
        procd_open_instance
        procd_set_param command $daemon
        procd_set_param respawn 3600 2 0
        procd_set_param term_timeout 30
        procd_set_param stderr 1
        procd_close_instance
}
END
}

write_run() {
        printf '#!/bin/sh\n%s\nexec %s\n' "$mark" "$daemon"
}

# Writes stdin to $1, with mode $2. What another program wrote there stays.
put() {
        [ ! -e "$1" ] || grep -qF "$mark" "$1" || die "$1 is there already, and not of uasd."
        { cat >"$1.new" && chmod "$2" "$1.new" && mv -f "$1.new" "$1"; } || die "cannot write $1."
}

# Writes stdin in place of uasd's line in $1, and keeps all other lines. If there is no room for it, $1 stays as it is.
put_line() {
        real=$(readlink -f "$1")
        cp -p "$real" "$real.new" && { grep -vF "$mark" "$real"; [ $? -le 1 ]; } >"$real.new" && cat >>"$real.new" &&
                mv -f "$real.new" "$real" && return
        rm -f "$real.new"
        return 1
}

# All that is made is in this list.
note() {
        grep -qxF "$1" "$prefix/installed" 2>/dev/null || printf '%s\n' "$1" >>"$prefix/installed"
}

# A folder that is not there yet is one that --remove deletes.
make_folder() {
        [ ! -d "$1" ] || return 0
        make_folder "$(dirname "$1")"
        mkdir "$1" || die "cannot make $1."
        made="$made$1
"
}

write_start_script() {
        script=$(script_of) || die "$init has no folder of services here."
        case $init in
        none) return 0 ;;
        busybox)
                printf '::respawn:%s 2>/dev/null %s\n' "$daemon" "$mark" | put_line "$script" || die "cannot write $script."
                note "line $script"
                return 0
                ;;
        runit | s6)
                make_folder "$script"
                write_run | put "$script/run" 755 || exit 1
                note "tree $script"
                return 0
                ;;
        systemd) mode=644 ;;
        *) mode=755 ;;
        esac
        make_folder "$(dirname "$script")"
        "write_$init" | put "$script" $mode || exit 1
        note "file $script"
}

show_all() {
        case $init in
        openrc | procd | systemd | sysvinit) "write_$init" ;;
        runit | s6) write_run ;;
        *) die "$init has no start script." ;;
        esac
}

# $1: start, stop. With "none" nothing is started.
control() {
        case $init in
        systemd)
                [ -d /run/systemd/system ] || return 0
                systemctl daemon-reload
                if [ "$1" = start ]; then systemctl enable -q uasd.service && systemctl restart uasd.service
                else systemctl disable -q --now uasd.service; fi
                ;;
        openrc)
                has rc-service || return 0
                # Debian's OpenRC has nothing in the runlevel boot, and does not start it.
                runlevel=boot
                find /etc/runlevels/boot ! -type d ! -name uasd 2>/dev/null | grep -q . || runlevel=default
                if [ "$1" = start ]; then rc-update -q add uasd $runlevel && rc-service uasd restart
                else rc-service --ifstarted uasd stop; rc-update -q -a del uasd; fi
                ;;
        sysvinit)
                if [ "$1" = start ]; then
                        if has update-rc.d; then update-rc.d uasd defaults >/dev/null
                        elif has chkconfig; then chkconfig --add uasd
                        else say "Have $script started at boot: no update-rc.d or chkconfig is here."; fi
                        "$script" restart
                else
                        "$script" stop
                        if has update-rc.d; then mv "$script" "$script.old" && update-rc.d uasd remove >/dev/null; mv "$script.old" "$script"
                        elif has chkconfig; then chkconfig --del uasd; fi
                fi
                ;;
        procd)
                [ -e /etc/rc.common ] || return 0
                if [ "$1" = start ]; then "$script" enable && "$script" restart
                else "$script" stop; "$script" disable; fi
                ;;
        runit)
                # runsvdir starts it within 5 s, and runsv again a uasd that has ended: then it is the new one.
                if [ "$1" = start ]; then end_daemon
                else ! has sv || sv -w 30 stop "$script" >/dev/null 2>&1; fi
                ;;
        s6)
                if [ "$1" = start ]; then end_daemon; s6-svscanctl -a "$(dirname "$script")" 2>/dev/null
                else s6-svc -wd -d "$script" 2>/dev/null; fi
                ;;
        busybox)
                # It is ended when its line has gone.
                if [ "$1" = start ]; then end_daemon; kill -HUP 1 2>/dev/null; fi
                ;;
        none) [ "$1" = start ] || end_daemon ;;
        esac
        return 0
}

# Only uasd: a switch that has begun goes on.
end_daemon() {
        for process in /proc/[0-9]*; do
                case $(readlink "$process/exe" 2>/dev/null) in
                "$target/lib/uasd/uasd" | "$target/lib/uasd/uasd (deleted)") kill "${process#/proc/}" 2>/dev/null ;;
                esac
        done
        return 0
}

# Files go to their place in one step each: a uasd or a switch that runs keeps those that it has.
copy_files() {
        (cd "$here" && find . -type d) | while read -r folder; do mkdir -p "$target/$folder" || exit 1; done || die "cannot write $target."
        (cd "$here" && find . -type f) | while read -r file; do
                cp -p "$here/$file" "$target/$file.new" && mv -f "$target/$file.new" "$target/$file" || exit 1
        done || die "cannot write $target."
        # What only the version before had.
        (cd "$target" && find . -type f ! -name installed) | while read -r file; do
                [ -e "$here/$file" ] || rm -f "${target:?}/$file"
        done
}

install_all() {
        [ "$(id -u)" -eq 0 ] || die "only root can install uasd."
        problem=$(cannot_run) && die "$problem"
        case $was in '' | none | "$init") ;; *) die "uasd is installed for $was: remove it first." ;; esac
        target=${folder_wanted:-$(readlink -f $prefix 2>/dev/null || echo $prefix)}
        case $target in /*) ;; *) die "FOLDER must begin with /." ;; esac
        [ "$here" != "$target" ] || die "uasd is installed from the folder of the bundle, not from $target."
        [ ! -e "$target" ] || [ -e "$target/installed" ] || [ -z "$(ls -A "$target")" ] || die "$target is there already, and not of uasd."
        if [ -L $prefix ]; then [ "$(readlink -f $prefix)" = "$target" ] || die "uasd is in $(readlink -f $prefix): remove it first."
        elif [ -d $prefix ]; then [ "$target" = $prefix ] || die "uasd is in $prefix: remove it first."; fi
        made=
        make_folder "$target"
        if [ "$target" != $prefix ]; then
                make_folder /opt
                [ -L $prefix ] || ln -s "$target" $prefix || die "cannot make the link $prefix."
        fi
        copy_files
        commands=/usr/local/bin
        [ -d $commands ] || commands=/usr/bin
        if [ -d "$commands" ] && [ ! -e "$commands/uasctl" ] && ln -sf $prefix/bin/uasctl "$commands/uasctl" 2>/dev/null; then
                note "link $commands/uasctl"
        elif [ "$(readlink "$commands/uasctl")" = $prefix/bin/uasctl ]; then :
        else
                say "uasctl is $prefix/bin/uasctl: it could not be linked into $commands."
        fi
        write_start_script
        printf '%s' "$made" | while read -r folder; do note "folder $folder"; done
        [ "$was" != none ] || sed -i '/^init /d' "$prefix/installed"
        note "init $init"
        [ "$start" = no ] || control start
        say "uasd is in $target. ${script:+$script starts it.}"
        [ "$init" != none ] || say "No start script was written. Start it with: $daemon &"
        say "uasctl list shows the disks."
}

remove_all() {
        [ "$(id -u)" -eq 0 ] || die "only root can remove uasd."
        [ -e $prefix/installed ] || die "uasd is not installed here by install.sh."
        target=$(readlink -f $prefix)
        init=$was
        script=$(sed -n -e 's/^file //p' -e 's/^tree //p' -e 's/^line //p' $prefix/installed | head -n 1)
        control stop
        while read -r kind path; do
                case $kind in
                file | link) rm -f "$path" ;;
                tree) rm -rf "$path" ;;
                line) put_line "$path" </dev/null || say "$path cannot be changed: delete the line with '$mark' there." ;;
                esac
        done <$prefix/installed
        case $init in
        systemd) [ ! -d /run/systemd/system ] || systemctl daemon-reload ;;
        busybox) kill -HUP 1 2>/dev/null; end_daemon ;;
        s6) s6-svscanctl -an "$(dirname "$script")" 2>/dev/null ;;
        esac
        folders=$(sed -n 's/^folder //p' $prefix/installed)
        [ ! -L $prefix ] || rm -f $prefix
        (cd "$here" && cd / && rm -rf "$target")
        # Those inside before those around them.
        printf '%s\n' "$folders" | sort -r | while read -r folder; do
                [ -z "$folder" ] || rmdir "$folder" 2>/dev/null
        done
        if [ "$purge" = yes ]; then rm -rf /etc/uasd /var/lib/uasd /run/uasd
        elif [ -d /etc/uasd ]; then say "The settings of the disks are still in /etc/uasd. With --purge they are deleted."; fi
        say "uasd is removed. Each disk stays on its driver until it is plugged in again."
}

# Says why the bundle cannot run here; fails if it can.
cannot_run() {
        release=$(uname -r)
        major=${release%%.*}
        minor=${release#*.}
        minor=${minor%%[!0-9]*}
        if [ "$major" -lt 4 ] || { [ "$major" -eq 4 ] && [ "$minor" -lt 4 ]; }; then
                say "This kernel is Linux $release. uasd needs Linux 4.4 or newer."
                return 0
        fi
        if ! "$here/lib/ld.so" --library-path "$here/lib" "$here/bin/uasctl" --version >/dev/null 2>&1; then
                say "The programs do not run here: this is $(uname -m), and the bundle is for $(sed -n 's/^arch=//p' "$here/bundle")."
                return 0
        fi
        if has sha256sum && ! (cd "$here" && sha256sum -c SHA256SUMS >/dev/null 2>&1); then
                say "A file of the bundle has changed: SHA256SUMS does not agree. Unpack it again."
                return 0
        fi
        return 1
}

# $1: ok, no, or ?
row() {
        printf '%-3s %-12s %s\n' "$1" "$2" "$3"
}

# uasctl knows Module= of uasd.conf, and modprobe's rules.
check_uas() {
        if said=$(LC_ALL=C "$here/lib/ld.so" --library-path "$here/lib" "$here/bin/uasctl" module 2>&1); then
                row ok uas "$(plain "$said")"
        else
                row no uas "$(plain "$said") uasctl lists and explains the disks; no disk can be moved."
                return 1
        fi
}

# Messages of uasctl, on one line.
plain() {
        echo "$1" | sed 's/^uasctl: //' | tr '\n' ' ' | sed 's/ *$//'
}

check_all() {
        status=0
        if problem=$(cannot_run); then row no programs "$problem"; status=1
        else
                check_uas || status=1
                row ok kernel "Linux $(uname -r)"
                row ok programs "They run here."
                row ok "OFD locks" "Linux has them since 3.15."
        fi
        if [ -d /sys/bus/usb/drivers/usb-storage ] || grep -q usb-storage "/lib/modules/$(uname -r)/modules.dep" 2>/dev/null; then
                row ok usb-storage "The driver usb-storage is there."
        else row '?' usb-storage "The driver usb-storage is not loaded."; fi
        if script=$(script_of); then
                if [ "$init" = none ]; then row '?' init "No init is known here. Start uasd yourself: $daemon &"
                else row ok init "$init; the start script is $script."; fi
        else row no init "$init has no folder of services here."; status=1; fi
        if [ "$(id -u)" -ne 0 ]; then row '?' rights "Only root can install uasd."
        elif [ -w / ] || [ -w /opt ]; then row ok rights "root; $prefix can be written."
        else row no rights "$prefix cannot be written."; status=1; fi
        exit $status
}

verb=install
init=
folder_wanted=
start=yes
purge=no
script=
while [ $# -gt 0 ]; do
        case $1 in
        --check) verb=check ;;
        --remove) verb=remove ;;
        --show) verb=show ;;
        --purge) purge=yes ;;
        --no-start) start=no ;;
        --init=*) init=${1#--init=} ;;
        --help | -h) sed -n '3,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
        -*) die "unknown option $1: see --help." ;;
        *) folder_wanted=${1%/} ;;
        esac
        shift
done
was=$(sed -n 's/^init //p' $prefix/installed 2>/dev/null)
: "${init:=${was:-$(find_init)}}"
case " $inits " in *" $init "*) ;; *) die "unknown init $init. Known: $inits." ;; esac
"${verb}_all"
