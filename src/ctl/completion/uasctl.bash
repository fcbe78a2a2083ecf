# bash completion for uasctl(1)                            -*- shell-script -*-
# SPDX-License-Identifier: LGPL-2.1-or-later

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

# uasctl itself knows what may follow: src/ctl/complete.h has the format of its answer.
_uasctl() {
        local cur=${COMP_WORDS[COMP_CWORD]} word
        local -A own=([:files]='-f' [:directories]='-d' [:hosts]='-A hostname')
        [[ $cur == '=' ]] && cur=''
        COMPREPLY=()
        while IFS=$'\t' read -r word _; do
                if [[ ${own[$word]:-} ]]; then
                        [[ $word == :hosts ]] || compopt -o filenames 2>/dev/null
                        # shellcheck disable=SC2086
                        mapfile -t COMPREPLY < <(compgen ${own[$word]} -- "$cur")
                elif [[ $word == ':command '* ]]; then
                        _uasctl_command "${word#* }"
                        return
                elif [[ $word == :nospace ]]; then
                        compopt -o nospace 2>/dev/null
                elif [[ $word == "$cur"* ]]; then
                        COMPREPLY+=("$word")
                fi
        done < <(uasctl --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
        [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
        return 0
}
complete -F _uasctl uasctl
