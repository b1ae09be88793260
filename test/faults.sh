#!/bin/bash
# usage: faults.sh <root of the source tree>
# Keeps docs/design/faults.md and the tests together: no number is missing or there twice, what a row names is the
# whole name of a case, a fault or a fuzz target of the folder, and a row that names nothing says why.
set -euo pipefail
cd "$1"

page=docs/design/faults.md
failures=0
complain() {
    echo "$*" >&2
    failures=$((failures + 1))
}

for id in F{01..41} S{01..15}; do
    rows=$(sed '/^## Not tried/,$d' "$page" | grep -c "^| $id |" || true)
    ((rows == 1)) || complain "$id: $rows rows"
    row=$(grep -m 1 "^| $id |" "$page" || true)
    case $row in
        *'`: "'* | *"not built yet:"* | *"see [CONTRIBUTING.md]"*) ;;
        *) sed '1,/^## Not tried/d' "$page" | grep -q "^| $id |" || complain "$id: neither tried nor said why not" ;;
    esac
done

# What a folder has under a name, one a line: cases, faults of the simulation and of the chaos program, fuzz targets.
names_in() {
    local list=
    case $1 in
        sim)
            # The quoted entries of the arrays of names of faults, which begin in one line and end with "};".
            cat test/sim/plan.cpp test/sim/runner.cpp |
                sed -nE '/constexpr std::array<.*(fault|beyond)_names\{/,/};/p' | grep -oE '"[^"]+"'
            ;;
        chaos) grep -ohE '"[^"]+"' test/chaos/catalogue.cpp ;;
        fuzzing)
            list=$(sed -nE 's/^set\(redlock_fuzz_targets (.*)\)/\1/p' test/fuzzing/CMakeLists.txt)
            # shellcheck disable=SC2086 # several words
            printf '"%s"\n' $list
            ;;
        *)
            find "test/$1" -name '*.cpp' -exec cat {} + | tr '\n' ' ' |
                grep -oE 'TEST_CASE\( *"[^"]+" *[,)]' | grep -oE '"[^"]+"'
            ;;
    esac
}

declare -A known
names=0
while IFS=' ' read -r folder name; do
    names=$((names + 1))
    folder=${folder//[\`:]/}
    [[ -v known[$folder] ]] || known[$folder]=$(names_in "$folder")
    grep -qxF "$name" <<<"${known[$folder]}" || complain "test/$folder: no $name"
done < <(grep -oE '`[a-z]+`: "[^"]+"' "$page")
((names > 0)) || complain "$page names no test"

exit $((failures > 0))
