#!/bin/bash
# usage: safety.sh <root of the source tree> <redlock-sim>
# What the pages on safety and the guard are shown by is there: tests, variants of models, files.
# Plays what docs/design/evidence/safety.md says to end in two leases, or in tokens out of order, and demands that it does.
set -euo pipefail
cd "$1"
simulation=$2

failures=0
complain() {
    echo "$*" >&2
    failures=$((failures + 1))
}
. docs/check/named.sh
variants=0
for page in docs/design/{safety,guard,evidence/safety,evidence/simulation}.md; do
    check_names "$page"
    while read -r variant expected; do
        variants=$((variants + 1))
        row="^\| \`$variant\` \|.*\| ${expected:-(holds|fails)} \| [0-9]+ \|\$"
        grep -qE "$row" docs/design/evidence/models.md ||
            complain "$page: evidence/models.md does not say that $variant ${expected:-was searched}"
    done < <(grep -oE '`(tokens|exclusion|seeds)(_[a-z]+)*`( fails)?' "$page" | tr -d '\`')
    while read -r file; do
        [[ -e $file ]] || complain "$page: there is no $file"
    done < <(grep -oE '`test/[a-z_/]+(\.[a-z]+)?`' "$page" | tr -d '\`')
done
((names >= 40 && variants >= 20)) || complain "$names tests and $variants variants: that is few"
((failures == 0)) || exit 1

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
done < <(grep -oE 'redlock-sim --seed [^`]*--beyond [a-z_]+' docs/design/evidence/safety.md | sed 's/^redlock-sim //')
echo "$plays plays"
((plays == 33 && ones == 5))
