# bash completion for uasctl(1)                            -*- shell-script -*-
# SPDX-License-Identifier: LGPL-2.1-or-later

# Ports and block devices of USB disks, from sysfs: there is no waiting for a daemon while somebody types. Ports instead of
# interfaces, since readline takes words apart at colons.
_uasctl_disks() {
        local interface block class subclass
        for interface in "${_UASCTL_SYSFS:-/sys}"/bus/usb/devices/*:*; do
                { read -r class && read -r subclass <&3; } 2>/dev/null \
                        <"$interface/bInterfaceClass" 3<"$interface/bInterfaceSubClass" || continue
                [[ $class$subclass == 0806 ]] || continue
                class=${interface##*/}
                echo "${class%%:*}"
                for block in "$interface"/host*/target*/*/block/*; do
                        [[ -e $block ]] && echo "${block##*/}"
                done
        done
}

# Profiles of bench: files of the user's and ours.
_uasctl_profiles() {
        local file
        for file in /etc/uasd/bench/*.fio /usr/share/uasd/bench/*.fio; do
                [[ -e $file ]] && file=${file##*/} && echo "${file%.fio}"
        done
}

# Ids of the results that bench stores, as "uasctl bench list" prints them.
_uasctl_results() {
        local file
        echo last
        for file in "${_UASCTL_RESULTS:-/var/lib/uasd/bench}"/*.json; do
                file=${file##*/} file=${file#*-}
                [[ $file == ????????-* ]] && echo "${file:0:8}"
        done
}

# The command of inhibit, which begins at that word, as if it stood alone: where bash-completion is there, by that.
_uasctl_command() {
        local by
        for by in _comp_command_offset _command_offset; do
                declare -F "$by" >/dev/null && { "$by" "$1"; return; }
        done
        compopt -o filenames 2>/dev/null
        if ((COMP_CWORD == $1)); then
                mapfile -t COMPREPLY < <(compgen -A command -- "${COMP_WORDS[COMP_CWORD]}" | sort -u)
        else
                mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
        fi
}

_uasctl() {
        local cur=${COMP_WORDS[COMP_CWORD]} verb='' option='' words='' columns i n=0
        local -A arguments=(
                [list]='DISK...' [status]='DISK...' [explain]='DISK...' [db]='DISK' [log]='DISK...' [monitor]='DISK...'
                [wait]='DISK...' [switch]='DISK uas,usb-storage' [policy]='DISK auto,uas,usb-storage,ignore'
                [cancel]='DISK...' [release]='DISK...' [forget]='DISK...' [eject]='DISK...' [inhibit]='' [lease]='DISK kernel' [trim]='DISK on,off'
                [bench]='DISK' [metrics]='' [report]='DISK...' [help]='VERB'
        )
        local -A options=([list]='-o --output= --tree' [explain]='--all' [switch]='--dry-run --force --wait --wait=' [policy]='--force --kernel --write --dry-run' [trim]='--force' [inhibit]='--disk= --why= --list' [log]='--since= -n --lines= -f --follow' [bench]='--dry-run --driver= --profile= --pattern= --sweep= -n --rounds= --runtime= --pause= --size= --file= --write --remount --destroy-data --clients= --csv --markdown --chart= --history --diff --show --remove' [metrics]='--textfile=' [report]='--redact --hwdb=' [wait]='--wait --wait=')
        local common='-h --help --version -j --json --json= --no-legend --no-pager -q --quiet -H --host= --no-ask-password'

        # What stands before the cursor: the verb, how many arguments, and the option that waits for its value.
        for ((i = 1; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                -o | --output | --since | --lines | --textfile | --hwdb | --disk | --why | -H | --host | \
                        -n | --rounds | --driver | --profile | --pattern | --sweep | --runtime | --pause | --size | --file | --clients | --chart) option=${COMP_WORDS[i]} ;;
                -*) option=${COMP_WORDS[i]} && [[ ${COMP_WORDS[i + 1]} == '=' ]] || option='' ;;
                =) ;;
                *)
                        if [[ $option ]]; then
                                option=''
                        elif [[ $verb == inhibit ]]; then
                                _uasctl_command "$i"
                                return
                        elif [[ $verb ]]; then
                                ((++n))
                        else
                                verb=${COMP_WORDS[i]}
                        fi
                        ;;
                esac
        done
        [[ $cur == '=' ]] && cur=''

        COMPREPLY=()
        if [[ $option == --textfile ]]; then
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -d -- "$cur")
                return
        elif [[ $option == --hwdb && $cur == /* ]]; then
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                return
        elif [[ $option == --hwdb || $option == --disk ]]; then
                words=$(_uasctl_disks)
        elif [[ $option == -H || $option == --host ]]; then
                mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
                return
        elif [[ $option == --file || $option == --chart ]]; then
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                return
        elif [[ $option == -o || $option == --output ]]; then
                columns='ID BUS PORT DISKS SIZE SPEED DRIVER TARGET STATE WHY PRODUCT BRIDGE REVISION SERIAL USB CAPABLE POLICY VERDICT HISTORY HOST BUSY REASON REASON-ID'
                compopt -o nospace 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -W "$columns" -P "${cur%"${cur##*[,+]}"}" -- "${cur##*[,+]}")
                return
        elif [[ $option == --json ]]; then
                words='short pretty'
        elif [[ $option == --since ]]; then
                words='today yesterday'
        elif [[ $option == --driver ]]; then
                words='uas usb-storage'
        elif [[ $option == --sweep ]]; then
                words='depth jobs ramp region runtime'
        elif [[ $option == --profile ]]; then
                words=$(_uasctl_profiles)
        elif [[ $option ]]; then
                return
        elif [[ $cur == -* ]]; then
                words="$common ${options[${verb:-none}]:-}"
        elif [[ ! $verb ]]; then
                words=${!arguments[*]}
        elif [[ $verb == inhibit ]]; then
                _uasctl_command "$COMP_CWORD"
                return
        elif [[ $verb == bench && " ${COMP_WORDS[*]:0:COMP_CWORD} " =~ ' '(--)?(show|diff|remove)' ' ]]; then
                words=$(_uasctl_results)
        else
                read -ra i <<<"${arguments[$verb]:-}"
                [[ ${i[0]:-} == DISK... ]] && words=DISK || words=${i[n]:-}
                words=${words//,/ }
                [[ $verb == policy && " ${COMP_WORDS[*]:0:COMP_CWORD} " == *' --write '* ]] && words=${words% ignore}
                if [[ $words == DISK && $cur == /* ]]; then
                        compopt -o filenames 2>/dev/null
                        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                        return
                fi
                [[ $words == DISK ]] && words=$(_uasctl_disks)
                [[ $words == VERB ]] && words=${!arguments[*]}
        fi
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
        return 0
}
complete -F _uasctl uasctl
