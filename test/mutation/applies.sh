#!/bin/bash
# usage: applies.sh <root of the source tree>
# Every mutant is still a change of the library as it is now.
set -euo pipefail
cd "$1"

failures=0
for mutant in test/mutation/*.patch; do
    patch -p1 --dry-run --force --silent <"$mutant" >/dev/null || {
        echo "$mutant does not apply any more" >&2
        failures=$((failures + 1))
    }
done
((failures == 0))
