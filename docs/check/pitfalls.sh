#!/bin/bash
# usage: pitfalls.sh <root of the source tree>
# Keeps docs/design/pitfalls.md and the tests' tags together: no number is missing or there twice, a tag has a row,
# a folder in a row has a test with the number in its name, a row without folders has no test.
set -euo pipefail
cd "$1"

page=docs/design/pitfalls.md
failures=0
complain() {
    echo "$*" >&2
    failures=$((failures + 1))
}

for number in p{01..50}; do
    rows=$(grep -c "^| $number |" "$page" || true)
    ((rows == 1)) || complain "$number: $rows rows"
done

while read -r number; do
    grep -q "^| $number |" "$page" || complain "$number: tagged in a test, and not in $page"
done < <(grep -rhoE '\[p[0-9]+\]' test --include='*.cpp' | tr -d '[]' | sort -u)

while IFS='|' read -r _ number _ folders _; do
    number=${number// /}
    if [[ $folders == " not "* ]]; then
        ! grep -rqF "[$number]" test --include='*.cpp' || complain "$number:$folders, and it has a test"
        continue
    fi
    for folder in ${folders//,/ }; do
        grep -rqE "\"(p[0-9]+, )*$number[,:] " "test/$folder" --include='*.cpp' || complain "$number: no test in $folder"
    done
done < <(grep -E '^\| p[0-9]' "$page")

# A number in a name comes with its tag.
while read -r number; do
    grep -rqF "[$number]" test --include='*.cpp' || complain "$number: in a name, and not a tag"
done < <(grep -rhoE '"(p[0-9]+, )*p[0-9]+:' test --include='*.cpp' | grep -oE 'p[0-9]+' | sort -u)

exit $((failures > 0))
