#!/bin/bash
# usage: faults.sh <root of the source tree>
# Keeps the page of faults, the page of their tests, and the tests together: no number is missing or there twice, what
# a row names is the whole name of a case, a fault or a fuzz target of the folder, and a row that names nothing says why.
set -euo pipefail
cd "$1"

page=docs/design/evidence/faults.md
failures=0
complain() {
    echo "$*" >&2
    failures=$((failures + 1))
}

for id in F{01..45} S{01..15}; do
    rows=$(sed '/^## Not tried/,$d' "$page" | grep -c "^| $id |" || true)
    ((rows == 1)) || complain "$id: $rows rows"
    row=$(grep -m 1 "^| $id |" "$page" || true)
    case $row in
        *'`: "'* | *"not built yet:"* | *"see [CONTRIBUTING.md]"*) ;;
        *) grep -q "^| $id |" <<<"$(sed '1,/^## Not tried/d' "$page")" || complain "$id: neither tried nor said why not" ;;
    esac
done

# Both pages have the number and the fault in the first two cells.
happens() { grep -oE '^\| [FS][0-9]+ \| [^|]*' "$1"; }
diff <(happens docs/design/faults.md) <(sed '/^## Not tried/,$d' "$page" | happens /dev/stdin) ||
    complain "docs/design/faults.md and $page do not have the same rows"

. docs/check/named.sh
check_names "$page"
((names > 0)) || complain "$page names no test"

exit $((failures > 0))
