#!/bin/bash
# usage: applies.sh <root of the source tree>
# Every mutant is still a change of the library as it is now, and in the table of what was seen of them.
set -euo pipefail
cd "$1"

failures=0
for mutant in test/mutation/*.patch; do
    patch -p1 --fuzz=0 --dry-run --force --silent <"$mutant" >/dev/null || {
        echo "$mutant does not apply any more" >&2
        failures=$((failures + 1))
    }
    name=$(basename "$mutant" .patch)
    grep -q "^| \`$name\` | [^|]* | [^?|]* | [^?|]* |\$" docs/design/mutants.md || {
        echo "docs/design/mutants.md does not say what was seen of $name" >&2
        failures=$((failures + 1))
    }
done
((failures == 0))
