#!/bin/bash
# usage: exports.sh [--record] <nm> <shared library> <list>
# The library exports nothing of its own code but the API, and no inner layer at all. Names that Boost and the standard
# library mark visible in their headers are exported as weak symbols, which all users of a process must share. The list
# has the names that programs are linked with, so that no change of it is an accident. Removing or changing a name breaks
# programs that were built before; a new name is a promise. --record writes the list.
# Prints one line a violation.
set -euo pipefail
export LC_ALL=C
record=
[[ $1 != --record ]] || {
    record=1
    shift
}
nm=$1
library=$2
list=$3

"$nm" -D --defined-only -C "$library" | awk '
{
    kind = $2
    name = $0
    sub(/^[^ ]* [^ ]+ /, "", name)
    weak = kind ~ /^[VvWwu]$/
    subject = name
    if (weak) sub(/^(typeinfo name|typeinfo|vtable|VTT|guard variable) for /, "", subject)
    if (name == "redlock::version()") seen = 1
    if (subject ~ /^redlock::(base|resp|core|engine|scope)::/) complain("an inner layer")
    else if (!weak && subject !~ /^redlock::/) complain("not ours")
    else if (weak && name !~ /(^|[^a-z_])(boost|std|__gnu_cxx)::/ && subject !~ /^redlock::/) complain("unknown")
}
function complain(why) { print why ": " name; bad = 1 }
END {
    if (!seen) { print "the version is not there: is this the library?"; bad = 1 }
    exit bad
}
'

symbols() { "$nm" -D --defined-only -C "$library" | sed -nE 's/^[^ ]+ [A-U] //p' | sort -u; }
if [[ -n $record ]]; then
    symbols >"$list"
elif ! difference=$(diff <(symbols) "$list"); then
    sed -n 's/^< /not in the list: /p; s/^> /no more in the library: /p' <<<"$difference"
    echo "if that is meant: test/package/exports.sh --record $nm $library $list; and should SOVERSION change?"
    exit 1
fi
