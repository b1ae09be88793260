#!/bin/bash
# usage: interrupted_show.sh <redlock-bench>
# An interrupted show ends with the signal's status, and leaves neither servers nor files.
set -euo pipefail
# A process group for the show, so that the show does not start with SIGINT ignored.
set -m
folder=$(mktemp -d)
show=
finish() {
    [[ -z $show ]] || kill -KILL "$show" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT

fail() {
    echo "$*" >&2
    cat "$folder/output" >&2
    exit 1
}
children() {
    { cat /proc/[0-9]*/status 2>/dev/null || true; } |
        awk -v parent="$show" '$1 == "Pid:" { pid = $2 } $1 == "PPid:" && $2 == parent { print pid }'
}
# until_true <command...>: for at most a minute, after which the test counts as hung
until_true() {
    local end=$((SECONDS + 60))
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}
has_five_servers() { (($(children | wc -l) == 5)); }
shows() { [[ $(ls -A "$folder/tmp") ]] && grep -q 'nodes' "$folder/output"; }

mkdir "$folder/tmp"
TMPDIR=$folder/tmp "$1" show --local 5 --seconds 60 >"$folder/output" 2>&1 &
show=$!
until_true has_five_servers || fail "there are no five servers"
until_true shows || fail "the show does not begin"
mapfile -t servers < <(children)

kill -INT "$show"
status=0
wait "$show" || status=$?
show=
((status == 130)) || fail "the status is $status"
for server in "${servers[@]}"; do
    ! kill -0 "$server" 2>/dev/null || fail "server $server is still there"
done
[[ -z $(ls -A "$folder/tmp") ]] || fail "files are left: $(ls -A "$folder/tmp")"
