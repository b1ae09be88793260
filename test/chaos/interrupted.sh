#!/bin/bash
# usage: interrupted.sh <redlock-chaos>
# An interrupted run says so by its status and leaves neither processes nor files. If a run is killed, its
# processes end too, even stopped ones.
set -euo pipefail
# Gives the run its own process group, so that it does not begin with SIGINT ignored.
set -m
folder=$(mktemp -d)
run=
finish() {
    [[ -z $run ]] || kill -KILL "$run" 2>/dev/null || true
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
        awk -v parent="$run" '$1 == "Pid:" { pid = $2 } $1 == "PPid:" && $2 == parent { print pid }'
}
# until_true <command...>: waits for at most a minute, then the test counts as hung
until_true() {
    local end=$((SECONDS + 60))
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}
has_all() { (($(children | wc -l) >= 5 + 4)); }
is_at_it() { grep -q 'in force' "$folder/output"; }
are_gone() {
    local each
    for each in "${all[@]}"; do
        ! kill -0 "$each" 2>/dev/null || return 1
    done
}

start() {
    mkdir "$folder/tmp"
    TMPDIR=$folder/tmp "$1" --seconds 60 >"$folder/output" 2>&1 &
    run=$!
    until_true is_at_it || fail "the run does not begin"
    until_true has_all || fail "there are no five masters and four clients"
    mapfile -t all < <(children)
}

start "$1"
kill -INT "$run"
status=0
wait "$run" || status=$?
((status == 130)) || fail "the status is $status"
are_gone || fail "processes are left"
[[ -z $(ls -A "$folder/tmp") ]] || fail "files are left: $(ls -A "$folder/tmp")"
rmdir "$folder/tmp"

start "$1"
kill -STOP "${all[0]}" "${all[-1]}" || true
kill -KILL "$run"
wait "$run" 2>/dev/null || true
run=
until_true are_gone || fail "processes are left of a run that was killed"
