#!/bin/bash
# usage: safety.sh <root of the source tree> <redlock-sim>
# Plays what docs/design/safety.md says to end in two leases, or in tokens out of order, and demands that it does.
set -euo pipefail
cd "$1"
simulation=$2

plays=0
ones=0  # in which two leases get one token, as the page says that they can
while read -r arguments; do
    plays=$((plays + 1))
    expected=--expect-double-lease
    [[ $arguments != *--only-tokens* ]] || expected=--expect-disorder
    # shellcheck disable=SC2086 # several words
    told=$("$simulation" $arguments $expected) || {
        echo "not so: redlock-sim $arguments" >&2
        exit 1
    }
    echo "$told"
    [[ $told != *"that another lease has"* ]] || ones=$((ones + 1))
done < <(grep -oE 'redlock-sim --seed [^`]*--beyond [a-z_]+' docs/design/safety.md | sed 's/^redlock-sim //')
echo "$plays plays"
((plays == 25 && ones == 4))
