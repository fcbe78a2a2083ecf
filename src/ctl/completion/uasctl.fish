# fish completion for uasctl(1)
# SPDX-License-Identifier: LGPL-2.1-or-later

# uasctl itself knows what may follow: src/ctl/complete.h has the format of its answer.
function __uasctl_complete
    set -l words (commandline -opc)
    set -l cursor (commandline -ct)
    set -l option (string match -r '^--[^=]*=' -- "$cursor")
    set -l value (string replace -r '^--[^=]*=' '' -- "$cursor")
    for line in (uasctl --complete $words[2..-1] "$cursor" 2>/dev/null)
        switch $line
            case ':command *'
                # The command of inhibit, as if it stood alone.
                set -l first (math 1 + (string split ' ' $line)[2])
                test (count $words) -lt $first; and string match -q -- '-*' "$cursor"; and return
                set -l rest (string join ' ' -- (string escape -- $words[$first..-1]) $cursor)
                complete "--do-complete=$rest"
            case :files
                string replace -r '^' -- "$option" (__fish_complete_path "$value")
            case :directories
                string replace -r '^' -- "$option" (__fish_complete_directories "$value")
            case :hosts
                string replace -r '^' -- "$option" (__fish_print_hostnames)
            case :nospace
            case "$value*"
                echo "$option$line"
        end
    end
end

complete -c uasctl -f -a '(__uasctl_complete)'
