#!/bin/bash
# usage: reported.sh <redlock-sim>
# A broken promise fails the campaign. Its report has the violation, the command that repeats it, and a shorter command.
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
# The arguments after a word of the report.
arguments() { sed -n "s|^  $1: *$program ||p" "$said"; }

program=$1
# Begins with a seed that breaks this promise before others, which a clock step may break too. The campaign ends at the first
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
