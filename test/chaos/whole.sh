#!/bin/bash
# usage: whole.sh <redlock-chaos>
# A run that cannot drop packets says so at its beginning and its end. With --whole it counts as skipped, which
# fails CI.
set -euo pipefail
output=$(mktemp)
trap 'rm -f "$output"' EXIT

fail() {
    echo "$*" >&2
    cat "$output" >&2
    exit 1
}

# Root without the right to a network namespace. Other users have no such right anyway.
without=()
((EUID != 0)) || without=(setpriv --bounding-set=-sys_admin)

# ends_with <status> <argument...>: the run ends with this status and says why it dropped no packets.
ends_with() {
    local status=0 wanted=$1
    shift
    "${without[@]}" "$@" --scenario storm --seconds 1 >"$output" 2>&1 || status=$?
    ((status == wanted)) || fail "$*: the status is $status"
    sed -n 3p "$output" | grep -q '^packets are left alone: .' || fail "it does not begin with what it leaves alone"
    tail -n 2 "$output" | grep -q '^no packets were lost, .*: .' || fail "it does not end with what it left alone"
}
ends_with 77 "$1" --whole
ends_with 0 "$1"
