#!/bin/bash
# usage: last_words.sh <redlock-sim>
# A campaign that dies names the plays that were running, so that they can be repeated.
set -euo pipefail

ulimit -c 0
folder=$(mktemp -d)
sim=
cleanup() {
    # Not in a child that was killed before its exec.
    ((BASHPID == $$)) || return 0
    [[ -z $sim ]] || kill -KILL "$sim" 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT

fail() {
    echo "$*" >&2
    cat "$folder/said" >&2
    exit 1
}

# Waits until the progress line on the standard error reports played seeds.
await_plays() {
    local tries
    for ((tries = 0; tries < 600; ++tries)); do
        ! grep -sqE ' [1-9][0-9]* seeds ' "$folder/progress" || return 0
        sleep 0.1
    done
    fail "no seed was played in a minute"
}

# dies_by <signal> <status...>: has enough threads that some of them always run a play.
dies_by() {
    local signal=$1 status=0
    shift
    rm -f "$folder/said" "$folder/progress"  # of the last run
    "$program" --seconds 600 --jobs 8 --faults cut --progress >"$folder/said" 2>"$folder/progress" &
    sim=$!
    await_plays
    kill -s "$signal" "$sim"
    wait "$sim" 2>/dev/null || status=$?
    sim=
    [[ " $* " == *" $status "* ]] || fail "SIG$signal ended it with status $status"
    local again
    again=$(sed -n "s/^FAILED: signal $(kill -l "$signal") while playing \(--seed [0-9]* --faults cut\)$/\1/p" \
        "$folder/said" | head -n 1)
    [[ -n $again ]] || fail "SIG$signal: no play was named"
    # shellcheck disable=SC2086 # arguments
    "$program" $again >/dev/null || fail "$again: not to be repeated"
}

program=$1
dies_by ABRT 134
dies_by SEGV 139 1 66  # 1 and 66: a sanitizer reported it and ended the program
