#!/bin/bash
# usage: reported.sh <redlock-sim>
# What breaks a promise fails the campaign, which says what it was and how to see it again, at length and cut down.
set -euo pipefail

said=$(mktemp)
trap 'rm -f "$said"' EXIT
fail() {
    echo "$*" >&2
    cat "$said" >&2
    exit 1
}
# fails <argument...>
fails() {
    local status=0
    "$program" "$@" >"$said" 2>&1 || status=$?
    ((status == 1)) || fail "$*: the status is $status"
}
# The arguments behind a word of the report.
arguments() { sed -n "s|^  $1: *$program ||p" "$said"; }

program=$1
# From a seed that breaks this promise first: clocks that step take some others along. The campaign ends at the first
# seed that fails, so REDLOCK_SIM_SEEDS does not scale this bound.
fails --from 4 --seeds 20000 --faults delay,split,cancel --beyond clock_step
grep -q '^FAILED: .* both believe that they hold ' "$said" || fail "it does not say what it saw"
grep -q '^  faults: .' "$said" || fail "it does not say which faults there were"
again=$(arguments again)
least=$(arguments least)
[[ $again == --seed\ * ]] || fail "it does not say how to play it again"
[[ $least == --seed\ *\ --trace ]] || fail "it does not say how to see the least of it"
for each in "$again" "$least"; do
    # shellcheck disable=SC2086 # arguments
    fails $each
    grep -q '^FAILED: .* both believe that they hold ' "$said" || fail "$each: that is something else"
done
