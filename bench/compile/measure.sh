#!/bin/bash
# usage: measure.sh <C++ compiler> [flag...]
# What a user's unit costs to compile at -O2: the least of five times each, as anything else the machine has to do
# only adds to it.
set -euo pipefail
export LC_ALL=C
units=$(dirname "$0")

object=$(mktemp --suffix .o)
trap 'rm -f "$object"' EXIT
times=5
TIMEFORMAT='%R %U'

printf '%-14s %8s %8s\n' unit 'wall s' 'user s'
for unit in facade client awaitable three_calls asio; do
    for ((i = 0; i < times; i++)); do
        { time "$@" -std=c++20 -O2 -c "$units/$unit.cpp" -o "$object"; } 2>&1
    done | awk -v unit="$unit" -v times="$times" '
        !/^[0-9.]+ [0-9.]+$/ { print; next }
        !n++ || $1 < wall { wall = $1 }
        n == 1 || $2 < user { user = $2 }
        END {
            if (n != times) exit 1
            printf "%-14s %8.2f %8.2f\n", unit, wall, user
        }'
done
