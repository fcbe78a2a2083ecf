# fish completion for uasctl(1)
# SPDX-License-Identifier: LGPL-2.1-or-later

# Ports and block devices of USB disks, from sysfs: there is no waiting for a daemon while somebody types.
function __uasctl_disks
    set -l sys /sys
    set -q _UASCTL_SYSFS; and set sys $_UASCTL_SYSFS
    for interface in $sys/bus/usb/devices/*:*
        test -r $interface/bInterfaceClass -a -r $interface/bInterfaceSubClass; or continue
        read -l class <$interface/bInterfaceClass
        read -l subclass <$interface/bInterfaceSubClass
        test $class$subclass = 0806; or continue
        set -l port (string replace -r ':.*' '' (string replace -r '.*/' '' $interface))
        set -l blocks (string replace -r '.*/' '' $interface/host*/target*/*/block/*)
        printf '%s\t%s\n' $port "$blocks"
        for block in $blocks
            printf '%s\t%s\n' $block $port
        end
    end
end

# Profiles of bench: files of the user's and ours.
function __uasctl_profiles
    for file in /etc/uasd/bench/*.fio /usr/share/uasd/bench/*.fio
        string replace -r '.*/(.*)\.fio$' '$1' $file
    end
end

# Ids of the results that bench stores, as "uasctl bench list" prints them.
function __uasctl_results
    set -l results /var/lib/uasd/bench
    set -q _UASCTL_RESULTS; and set results $_UASCTL_RESULTS
    echo last
    for file in $results/*.json
        string replace -rf '.*/\w+-(\w{8})-.*' '$1' $file
    end
end

# Names with commas in between, and perhaps a + in front of all.
function __uasctl_columns
    set -l before (commandline -ct | string replace -r '^(--output=|-o)' '' | string replace -r '[^,+]*$' '')
    for column in ID BUS PORT DISKS SIZE SPEED DRIVER TARGET STATE WHY PRODUCT BRIDGE REVISION SERIAL USB CAPABLE POLICY VERDICT HISTORY HOST BUSY REASON REASON-ID
        echo $before$column
    end
end

# The verb and what follows it, without options and their values; behind the command of inhibit all is that one's own.
function __uasctl_words
    set -l words
    set -l value no
    for word in (commandline -opc)[2..-1]
        if test (count $words) -ge 2 -a "$words[1]" = inhibit
            set -a words $word
        else if test $value = yes
            set value no
        else if contains -- $word -H --host -o --output --since --lines --textfile --hwdb --disk --why -n --rounds --driver \
                --profile --pattern --sweep --runtime --pause --size --file --clients --chart
            set value yes
        else if not string match -q -- '-*' $word
            set -a words $word
        end
    end
    string join \n -- $words
end

# That many words stand before the cursor, and the first is one of these verbs.
function __uasctl_at
    set -l words (__uasctl_words)
    test (count $words) -eq $argv[1]; or return
    test $argv[1] -eq 0; or contains -- $words[1] $argv[2..-1]
end

# It is bench about a stored result.
function __uasctl_kept
    contains -- bench (__uasctl_words)[1]; and string match -qr '^(--)?(show|diff|remove)$' -- (commandline -opc)
end

# The first word is one of these verbs, which take any number of disks.
function __uasctl_after
    set -l words (__uasctl_words)
    set -q words[1]; and contains -- $words[1] $argv
end

# An option here is ours: of one of these verbs, or of all if there are none.
function __uasctl_of
    set -l words (__uasctl_words)
    test (count $words) -ge 2 -a "$words[1]" = inhibit; and return 1
    set -q argv[1]; or return 0
    contains -- "$words[1]" $argv
end

# What is offered for the command of inhibit, as if it stood alone.
function __uasctl_command
    set -l words (__uasctl_words)
    test (count $words) -eq 1; and string match -q -- '-*' (commandline -ct); and return
    set -l line (string join ' ' -- (string escape -- $words[2..-1]) (commandline -ct))
    complete "--do-complete=$line"
end

complete -c uasctl -f
complete -c uasctl -n '__uasctl_at 0' -a list -d 'List USB disks and their drivers (also without a verb)'
complete -c uasctl -n '__uasctl_at 0' -a status -d 'Show disks in full'
complete -c uasctl -n '__uasctl_at 0' -a explain -d 'Show why a disk gets its driver'
complete -c uasctl -n '__uasctl_at 0' -a db -d 'Show what is known about a bridge, and the sources'
complete -c uasctl -n '__uasctl_at 0' -a log -d 'Show past events, the newest last'
complete -c uasctl -n '__uasctl_at 0' -a monitor -d 'Show events as they happen'
complete -c uasctl -n '__uasctl_at 0' -a wait -d 'Wait until no switch is pending'
complete -c uasctl -n '__uasctl_at 0' -a switch -d 'Switch a disk until it is unplugged; without a driver, back to its policy'
complete -c uasctl -n '__uasctl_at 0' -a policy -d 'Show or set the permanent driver of a disk; without DISK, list all that are set'
complete -c uasctl -n '__uasctl_at 0' -a cancel -d 'Cancel a switch that waits'
complete -c uasctl -n '__uasctl_at 0' -a release -d 'Let a held disk be mounted now, and cancel its switch'
complete -c uasctl -n '__uasctl_at 0' -a forget -d 'Clear the history of a disk, so that uas is tried again'
complete -c uasctl -n '__uasctl_at 0' -a eject -d 'Stop a disk and remove it, so that you can unplug it'
complete -c uasctl -n '__uasctl_at 0' -a inhibit -d 'Run a command during which no switch begins'
complete -c uasctl -n '__uasctl_at 0' -a lease -d 'Take a disk for one program, which gives orders on the standard input'
complete -c uasctl -n '__uasctl_at 0' -a trim -d 'Show or set whether the kernel uses TRIM on a disk'
complete -c uasctl -n '__uasctl_at 0' -a bench -d 'Measure a disk, and compare its drivers'
complete -c uasctl -n '__uasctl_at 0' -a metrics -d 'Print metrics of all disks, for Prometheus'
complete -c uasctl -n '__uasctl_at 0' -a report -d 'Print a summary and the facts, for a bug report'
complete -c uasctl -n '__uasctl_at 0' -a help -d 'Show this help, or that of a verb'

complete -c uasctl -n __uasctl_kept -a '(__uasctl_results)'
complete -c uasctl -n '__uasctl_at 1 db switch policy lease trim bench; and not __uasctl_kept' -a '(__uasctl_disks)'
complete -c uasctl -n '__uasctl_at 1 db switch policy lease trim bench; and string match -q "/*" -- (commandline -ct)' -F
complete -c uasctl -n '__uasctl_after list status explain log monitor wait cancel release forget eject report' -a '(__uasctl_disks)'
complete -c uasctl -n '__uasctl_after list status explain log monitor wait cancel release forget eject report; and string match -q "/*" -- (commandline -ct)' -F
complete -c uasctl -n '__uasctl_at 1 help' -a 'list status explain db log monitor wait switch policy cancel release forget eject inhibit lease trim bench metrics report help'
complete -c uasctl -n '__uasctl_at 2 switch' -a 'uas usb-storage'
complete -c uasctl -n '__uasctl_at 2 policy' -a 'auto uas usb-storage'
complete -c uasctl -n '__uasctl_at 2 policy; and not contains -- --write (commandline -opc)' -a ignore
complete -c uasctl -n '__uasctl_at 2 trim' -a 'on off'
complete -c uasctl -n '__uasctl_at 2 lease' -a 'kernel'
complete -c uasctl -n 'not __uasctl_of; or __uasctl_at 1 inhibit' -a '(__uasctl_command)'

complete -c uasctl -n __uasctl_of -s h -l help -d 'Show this help'
complete -c uasctl -n __uasctl_of -l version -d 'Show the version'
complete -c uasctl -n __uasctl_of -s j -l json -d 'Print JSON, on one line or on many'
complete -c uasctl -n __uasctl_of -l no-legend -d 'Print no headings'
complete -c uasctl -n __uasctl_of -l no-pager -d 'Do not show long text through a pager'
complete -c uasctl -n __uasctl_of -s q -l quiet -d 'Print only errors'
complete -c uasctl -n __uasctl_of -s H -l host -x -a '(__fish_print_hostnames)' -d 'Run uasctl on another machine, by ssh'
complete -c uasctl -n __uasctl_of -l no-ask-password -d 'Do not ask for a password'
complete -c uasctl -n '__uasctl_of list' -s o -l output -x -a '(__uasctl_columns)' -d 'Show these columns; with +: these as well'
complete -c uasctl -n '__uasctl_of list' -l tree -d 'Show buses and hubs as well'
complete -c uasctl -n '__uasctl_of explain' -l all -d 'Print also the rows that do not apply'
complete -c uasctl -n '__uasctl_of policy' -l kernel -d 'Print lines for boot loader and modprobe.d'
complete -c uasctl -n '__uasctl_of switch policy' -l dry-run -d 'Print what would happen, and do nothing'
complete -c uasctl -n '__uasctl_of bench' -l dry-run -d 'Print what would be measured, and measure nothing'
complete -c uasctl -n '__uasctl_of switch policy trim' -l force -d 'Do it even where kernel or database forbid uas, or the disk offers no TRIM'
complete -c uasctl -n '__uasctl_of switch wait' -l wait -d 'Wait for the end, at most that long'
complete -c uasctl -n '__uasctl_of log' -l since -x -a 'today yesterday' -d 'Show events from then on: 2026-11-20, 10:00, yesterday, -2h'
complete -c uasctl -n '__uasctl_of log' -s n -l lines -x -d 'Show only the last N events'
complete -c uasctl -n '__uasctl_of log' -s f -l follow -d 'Show the last events, and further ones as they happen'
complete -c uasctl -n '__uasctl_of metrics' -l textfile -x -a '(__fish_complete_directories)' -d 'Write DIR/uasd.prom, for node_exporter'
complete -c uasctl -n '__uasctl_of inhibit' -l disk -x -a '(__uasctl_disks)' -d 'Inhibit only switches of this disk'
complete -c uasctl -n '__uasctl_of inhibit' -l why -x -d 'The reason, for other users to read'
complete -c uasctl -n '__uasctl_of inhibit' -l list -d 'Show the inhibitors'
complete -c uasctl -n '__uasctl_of report' -l redact -d 'Leave out private data, such as serial numbers and mount points'
complete -c uasctl -n '__uasctl_of report' -l hwdb -x -a '(__uasctl_disks)' -d 'Print the results of this disk as an entry for the bridge database'
complete -c uasctl -n '__uasctl_of bench' -l driver -x -a 'uas usb-storage' -d 'Measure only this driver: uas or usb-storage'
complete -c uasctl -n '__uasctl_of bench' -l profile -x -a '(__uasctl_profiles)' -d 'cdm, gcp, matrix, engines, pi, or one in /etc/uasd/bench'
complete -c uasctl -n '__uasctl_of bench' -l pattern -x -d 'One pattern of the profile'
complete -c uasctl -n '__uasctl_of bench' -l sweep -x -a 'depth jobs ramp region runtime' -d 'Vary one figure: depth, jobs, region, runtime or ramp'
complete -c uasctl -n '__uasctl_of bench' -s n -l rounds -x -d 'Number of rounds that count; 5'
complete -c uasctl -n '__uasctl_of bench' -l runtime -x -d 'Duration of each run of fio'
complete -c uasctl -n '__uasctl_of bench' -l pause -x -d 'Pause between two runs; 5'
complete -c uasctl -n '__uasctl_of bench' -l size -x -d 'Maximum size of the region'
complete -c uasctl -n '__uasctl_of bench' -l file -r -F -d 'Measure a file, or with --write a scratch file in a directory'
complete -c uasctl -n '__uasctl_of policy' -l write -d 'With --kernel: change the file that this machine boots with'
complete -c uasctl -n '__uasctl_of bench' -l write -d 'Write as well, to a scratch file'
complete -c uasctl -n '__uasctl_of bench' -l remount -d 'With --write: compare both drivers, and unmount the file system for each switch'
complete -c uasctl -n '__uasctl_of bench' -l destroy-data -d 'Write to the raw disk; its serial number has to be typed'
complete -c uasctl -n '__uasctl_of bench' -l clients -x -a '(__fish_print_hostnames)' -d 'Measure from several machines that run fio --server'
complete -c uasctl -n '__uasctl_of bench' -l csv -d 'Print a line for each run'
complete -c uasctl -n '__uasctl_of bench' -l markdown -d 'Print a table for a forum'
complete -c uasctl -n '__uasctl_of bench' -l chart -r -F -d 'Draw the result, as .svg or .png'
complete -c uasctl -n '__uasctl_of bench' -l history -d 'As the verb list'
complete -c uasctl -n '__uasctl_of bench' -l diff -d 'As the verb diff'
complete -c uasctl -n '__uasctl_of bench' -l show -d 'As the verb show'
complete -c uasctl -n '__uasctl_of bench' -l remove -d 'As the verb remove'
