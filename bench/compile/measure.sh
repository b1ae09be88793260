#!/bin/bash
# usage: measure.sh <C++ compiler> [flag...]
# What a user's unit costs to compile at -O2: the least of five rounds, as anything else the machine has to do only
# adds to it; and how many times the user time of one header of Asio's that is.
set -euo pipefail
export LC_ALL=C
units=$(dirname "$0")

object=$(mktemp --suffix .o)
trap 'rm -f "$object"' EXIT
rounds=5
TIMEFORMAT='%R %U'

# One after the other in each round, so that a slow minute is everybody's.
for ((i = 0; i < rounds; i++)); do
    for unit in facade client awaitable three_calls under_lock asio; do
        { time "$@" -std=c++20 -O2 -c "$units/$unit.cpp" -o "$object"; } 2>&1 | sed "s/^[0-9.]* [0-9.]*$/$unit &/"
    done
done | awk -v rounds="$rounds" '
    NF != 3 || $2 $3 !~ /^[0-9.]+$/ { print; next }
    !n[$1]++ { order[++units] = $1; wall[$1] = $2; user[$1] = $3 }
    $2 < wall[$1] { wall[$1] = $2 }
    $3 < user[$1] { user[$1] = $3 }
    END {
        printf "%-12s %8s %8s %13s\n", "unit", "wall s", "user s", "of awaitable"
        for (i = 1; i <= units; i++) {
            unit = order[i]
            if (n[unit] != rounds) exit 1
            printf "%-12s %8.2f %8.2f %13.2f\n", unit, wall[unit], user[unit], user[unit] / user["awaitable"]
        }
    }'
