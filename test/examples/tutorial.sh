#!/bin/bash
# usage: tutorial.sh <root of the source tree> <folder of the built examples> <the redlock command>
# Does what the tutorial says, block after block in one shell, on other ports, and compares what comes with what stands there.
# What is compiled there was compiled already. Numbers may differ; "..." stands for anything.
set -euo pipefail
root=$1 programs=$2 command=$3
work=$(mktemp -d)
cd "$work"

# Those that nobody listens on now.
free_ports() {
    python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(s.getsockname()[1] for s in held))'
}
read -r one two three four < <(free_ports)
sed -e "s/7101/$one/g; s/7102/$two/g; s/7103/$three/g; s/7200/$four/g" "$root/docs/tutorial.md" >tutorial.md

# Each block of commands to N.do, what it prints to N.says. The first one installs.
awk '
    /^```/ { code = !code; inside = 0; next }
    code { next }
    /^    / { if (!inside) { ++blocks; inside = 1; says = printed; if (!says) ++n }
              print substr($0, 5) > (n - 1 "." (says ? "says" : "do")); next }
    { inside = 0 } NF { printed = /^It prints:$/ }
    END { print n - 1 > "last" }' tutorial.md
last=$(<last)
grep -q quickstart 0.do || { echo "the first block does not install"; exit 1; }

export PATH="$work/bin:$PATH" REDLOCK_CONFIG=/dev/null
mkdir bin
ln -s "$command" bin/redlock
g++() {
    local source=$2 program=$4
    [[ $1 == -std=c++20 && -e $root/$source && $3 == -o ]] || { echo "g++ $*: is not built so"; return 1; }
    ln -s "$programs/$(basename "$source" .cpp)" "$program"
}
pkg-config() { echo; }
# Half a second is the time that the lock takes to be had.
sleep() {
    if [[ $1 == 0.5 ]]; then
        for _ in {1..400}; do
            ! redlock inspect orders/42 | grep -q '^orders/42: held' || return 0
            command sleep 0.05
        done
        return 1
    fi
    command sleep "$1"
}

server=
end() {
    local pids
    pids=$(cat "${masters:-/nonexistent}"/*.pid 2>/dev/null || true)
    # shellcheck disable=SC2046,SC2086 # several
    kill -CONT $server 2>/dev/null || true
    # shellcheck disable=SC2046,SC2086
    kill $server $pids $(jobs -p) 2>/dev/null || true
    rm -rf "$work" "${masters:-}"
}
trap end EXIT

# What stands in the tutorial as an expression that matches it. How well clocks could be compared, and so in which words
# and units, is a matter of how busy the machine is; and so is which of three masters is asked before two have failed.
pattern() {
    sed -E 's/[][().*^$+?{}|\\/]/\\&/g; s/\\\.\\\.\\\./.*/g; s/[0-9]+(\\\.[0-9]+)?/[0-9.]+/g
        s/up for [^ ]* s/(just started|up for .*)/; s/, clock .*, its rate .*, releases/, clock .*, its rate .*, releases/
        s/^((Dates|Clock rates):) .*, (less than)/\1 .*, (\3|not known well enough for)/
        s/: undecided$/: (undecided|granted)/' <<<"$1"
}
compare() {
    local line pattern at=0
    local -a lines
    mapfile -t lines <"$1.out"
    while read -r line; do
        pattern=$(pattern "$line")
        while ((at < ${#lines[@]})) && [[ ! ${lines[at]} =~ ^[[:space:]]*${pattern}[[:space:]]*$ ]]; do
            ((++at))
        done
        ((at < ${#lines[@]})) || {
            printf 'block %d does not print, or not in this order:\n%s\nbut:\n' "$1" "$line"
            cat "$1.out"
            return 1
        }
        ((++at))
    done <"$1.says"
}

for ((block = 1; block <= last; ++block)); do
    # shellcheck disable=SC1090 # in this shell: what it sets is used by others
    source "./$block.do" >"$block.out" 2>&1 || {
        echo "block $block fails:"
        cat "$block.do" "$block.out"
        exit 1
    }
    for job in $(jobs -p); do
        [[ $job == "$server" ]] || wait "$job" || true
    done
    [[ ! -e $block.says ]] || compare "$block"
done
((last >= 10)) || { echo "only $last blocks"; exit 1; }
echo "$last blocks do what the tutorial says"
