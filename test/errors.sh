#!/bin/bash
# usage: errors.sh <root of the source tree>
# The page of errors has every code and condition, every outcome of a node, and every exit status of the command.
set -euo pipefail
cd "$1"

# The names of an enumeration in a file.
names_in()
{
    sed -n "/^enum $1 /,/^};/p" "$2" | grep -oE '^    [a-z_]+' | tr -d ' '
}

failed=0
checked=0
for name in $(names_in 'class errc' include/redlock/error.hpp) $(names_in 'class condition' include/redlock/error.hpp) \
    $(names_in 'class node_outcome' include/redlock/report.hpp); do
    checked=$((checked + 1))
    if ! grep -qF "| \`$name\` |" docs/errors.md; then
        echo "docs/errors.md has no row for $name"
        failed=1
    fi
done
for status in $(sed -n '/^enum exit_status/,/^};/p' lib/cli/exit_status.hpp | grep -oE '= [0-9]+' | tr -d '= '); do
    checked=$((checked + 1))
    if ! sed -n '/^## Exit statuses/,$p' docs/errors.md | grep -qE "^\| ([0-9]+, )?$status[, ]"; then
        echo "docs/errors.md has no row for the exit status $status"
        failed=1
    fi
done
if [[ $checked -lt 40 ]]; then
    echo "only $checked names were found: are they looked for where they are?"
    failed=1
fi
exit $failed
