#!/bin/bash
# usage: measure.sh <C++ compiler> [flag...]
# Measures the time to compile a user's unit at -O2, and its ratio to the user time of one header of Asio's. Repeats this
# with redlock.hpp precompiled, as CMake's target_precompile_headers does it, and with Asio compiled separately, in one
# unit of the program that includes <boost/asio/impl/src.hpp>. The least of five rounds counts, because other work of the
# machine only adds time. Also prints the cost of a page fault, and whether pages are huge: a compiler touches some 40 000
# fresh pages, which take a third of the time where a fault is expensive.
set -euo pipefail
export LC_ALL=C
units=$(dirname "$0")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rounds=5
TIMEFORMAT='%R %U'

# timed NAME FLAG...: prints the compiler's output, then a line "NAME wall user".
timed() {
    local name=$1
    shift
    { time "${compile[@]}" "$@"; } 2>&1 | sed "s/^[0-9.]* [0-9.]*$/$name &/"
}

compile=("$@" -std=c++20 -O2)
echo '#include <redlock/redlock.hpp>' >"$work/all.hpp"
precompiling=(-x c++-header "$work/all.hpp" -o "$work/all.hpp.gch")
precompiled=(-Winvalid-pch -Werror -include "$work/all.hpp")
"${compile[@]}" "${precompiling[@]}"

# One after the other in each round, so that a slow minute affects all units.
for ((i = 0; i < rounds; i++)); do
    for unit in facade client awaitable standard three_calls under_lock asio; do
        timed "$unit plain" -c "$units/$unit.cpp" -o "$work/unit.o"
    done
    for unit in facade client three_calls under_lock; do
        timed "$unit precompiled" "${precompiled[@]}" -c "$units/$unit.cpp" -o "$work/unit.o"
        timed "$unit apart" -DBOOST_ASIO_SEPARATE_COMPILATION -c "$units/$unit.cpp" -o "$work/unit.o"
    done
    timed "precompiling plain" "${precompiling[@]}"
done | awk -v rounds="$rounds" '
    NF != 4 || $3 $4 !~ /^[0-9.]+$/ { print; next }
    !seen[$1]++ { order[++units] = $1 }
    !n[$1, $2]++ { wall[$1, $2] = $3; user[$1, $2] = $4 }
    $3 < wall[$1, $2] { wall[$1, $2] = $3 }
    $4 < user[$1, $2] { user[$1, $2] = $4 }
    END {
        printf "%-12s %8s %8s %13s %12s %7s\n", "unit", "wall s", "user s", "of awaitable", "precompiled", "apart"
        for (i = 1; i <= units; i++) {
            unit = order[i]
            if (n[unit, "plain"] != rounds) exit 1
            printf "%-12s %8.2f %8.2f %13.2f", unit, wall[unit, "plain"], user[unit, "plain"],
                user[unit, "plain"] / user["awaitable", "plain"]
            if ((unit, "precompiled") in n) {
                if (n[unit, "precompiled"] != rounds || n[unit, "apart"] != rounds) exit 1
                printf " %12.2f %7.2f", wall[unit, "precompiled"], wall[unit, "apart"]
            }
            printf "\n"
        }
    }'

pages=/sys/kernel/mm/transparent_hugepage/enabled
if [[ -r $pages ]]; then
    printf 'transparent huge pages: %s\n' "$(sed 's/.*\[\(.*\)\].*/\1/' "$pages")"
fi
python3 - <<'EOF'
import mmap
import time

PAGE, PAGES = 4096, 20_000
memory = mmap.mmap(-1, PAGE * PAGES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
begun = time.perf_counter()
for at in range(0, PAGE * PAGES, PAGE):
    memory[at] = 1
print(f"touching 4 KiB of fresh memory: {(time.perf_counter() - begun) / PAGES * 1e6:.1f} us")
EOF
