#!/bin/bash
# usage: tutorial.sh <root of the source tree> <folder of the built examples> <the redlock command>
# Runs the tutorial's commands, block after block in one shell, on other ports, and compares their output with the page.
# The programs that the page compiles are compiled already. Numbers may differ; "..." matches any text.
set -euo pipefail
root=$1 programs=$2 command=$3
work=$(mktemp -d)
cd "$work"

coproc ports { exec python3 "$root/test/support/reserve_ports.py" 4; }
# shellcheck disable=SC2154 # coproc sets it
reserves=$ports_PID
read -r one two three four <&"${ports[0]}"
sed -e "s/7101/<1>/g; s/7102/<2>/g; s/7103/<3>/g; s/7200/<4>/g" \
    -e "s/<1>/$one/g; s/<2>/$two/g; s/<3>/$three/g; s/<4>/$four/g" "$root/docs/tutorial.md" >tutorial.md

# Writes each block of commands to N.do, and its output to N.says. The first block installs.
awk '
    /^```/ { code = !code; inside = 0; next }
    code { next }
    /^    / { if (!inside) { ++blocks; inside = 1; says = printed; if (!says) ++n }
              print substr($0, 5) > (n - 1 "." (says ? "says" : "do")); next }
    { inside = 0 } NF { printed = /^It prints:$/ }
    END { print n - 1 > "last" }' tutorial.md
last=$(<last)
grep -q quickstart 0.do || { echo "the first block does not install"; exit 1; }

# A node of a busy machine may answer late. Then the doctor warns, and its status is not 0.
echo 'node-timeout = "2s"' >options.toml
export PATH="$work/bin:$PATH" REDLOCK_CONFIG=$work/options.toml
mkdir bin
ln -s "$command" bin/redlock
# A holder's command lasts as long as the block in which others want its lock.
cat >bin/sleep <<END
#!/bin/bash
until [[ -e $work/block_is_done ]]; do /bin/sleep 0.05; done
END
chmod +x bin/sleep
g++() {
    local source=$2 program=$4
    [[ $1 == -std=c++20 && -e $root/$source && $3 == -o ]] || { echo "g++ $*: is not built so"; return 1; }
    local built
    built=$programs/$(basename "$source" .cpp)
    if [[ $source != */first_lock.cpp ]]; then
        ln -s "$built" "$program"
        return
    fi
    # The nodes of a busy machine may answer later than the program's node timeout. Then a majority does not refuse in
    # time, and the program runs again.
    cat >"$program" <<END
#!/bin/bash
for ((try = 0; try < 20; ++try)); do
    status=0
    output=\$("$built" "\$@" 2>&1) || status=\$?
    ! grep -q ': refused *$' "$work/\$block.says" || ((\$(grep -c ': refused *$' <<<"\$output") >= 2)) && break
done
echo "\$output"
exit \$status
END
    chmod +x "$program"
}
pkg-config() { echo; }
# Whether a majority of the nodes has the key. It starts no program, because the holder works for five seconds only.
is_held() {
    local port held=0 reply
    for port in "$one" "$two" "$three"; do
        reply=$(exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'EXISTS orders/42\r\n' >&3 &&
            read -r -t 10 line <&3 && echo "$line") || true
        [[ $reply != :1* ]] || ((++held))
    done
    ((held >= 2))
}
# The tutorial sleeps half a second until the lock is held, and three seconds until it has ended. Await these events.
sleep() {
    local end=$((SECONDS + 60))
    case $1 in
        0.5) until is_held; do ((SECONDS < end)) && /bin/sleep 0.02 || return 1; done ;;
        3) while is_held; do ((SECONDS < end)) && /bin/sleep 0.02 || return 1; done ;;
        *) /bin/sleep "$1" ;;
    esac
}

server=
end() {
    local pids
    pids=$(cat "${nodes:-/nonexistent}"/*.pid 2>/dev/null || true)
    # shellcheck disable=SC2046,SC2086 # several
    kill -CONT $server 2>/dev/null || true
    # shellcheck disable=SC2046,SC2086
    kill $server $pids $(jobs -p) 2>/dev/null || true
    rm -rf "$work" "${nodes:-}"
}
trap end EXIT

# A line of the tutorial as an expression that matches it. On a busy machine clocks are compared in other words and
# units. The last attempt before a deadline may ask one node first, and other nodes may answer too late. Each machine
# has its own name.
pattern() {
    sed -E 's/[][().*^$+?{}|\\/]/\\&/g; s/\\\.\\\.\\\./.*/g; s/[0-9]+(\\\.[0-9]+)?/[0-9.]+/g
        s/up for [^ ]* s/(just started|up for .*)/; s/, clock .*, its rate .*, releases/, clock .*, its rate .*, releases/
        s/^((Dates|Clock rates):) .*, (less than)/\1 .*, (\3|not known well enough for)/
        s/ on web[^ ]*,/ on [^ ]*,/
        s/: undecided$/: (undecided|granted|timed out)/
        s/: refused$/: (refused|not asked|undecided|timed out)/' <<<"$1"
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
    local refused=': refused *$'
    ! grep -q "$refused" "$1.says" || (($(grep -c "$refused" "$1.out") >= 2)) || {
        printf 'block %d: no majority of masters refuses:\n' "$1"
        cat "$1.out"
        return 1
    }
}

export block
for ((block = 1; block <= last; ++block)); do
    # shellcheck disable=SC1090 # in this shell, because later blocks use its variables
    source "./$block.do" >"$block.out" 2>&1 || {
        echo "block $block fails:"
        cat "$block.do" "$block.out"
        exit 1
    }
    touch block_is_done
    for job in $(jobs -p); do
        [[ $job == "$server" || $job == "$reserves" ]] || wait "$job" || true
    done
    rm block_is_done
    [[ ! -e $block.says ]] || compare "$block"
done
((last >= 10)) || { echo "only $last blocks"; exit 1; }
echo "$last blocks do what the tutorial says"
