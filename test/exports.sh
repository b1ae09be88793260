#!/bin/bash
# usage: exports.sh <nm> <shared library>
# What the library lets out: of its own code nothing but the API, and no inner layer at all. What Boost and the
# standard library mark visible in their headers comes along as weak symbols, which all users of a process must
# share. Prints one line a violation.
set -euo pipefail
nm=$1
library=$2

"$nm" -D --defined-only -C "$library" | awk '
{
    kind = $2
    name = $0
    sub(/^[^ ]* [^ ]+ /, "", name)
    weak = kind ~ /^[VvWwu]$/
    subject = name
    if (weak) sub(/^(typeinfo name|typeinfo|vtable|VTT|guard variable) for /, "", subject)
    if (name == "redlock::version()") seen = 1
    if (subject ~ /^redlock::(base|resp|core|engine)::/) complain("an inner layer")
    else if (!weak && subject !~ /^redlock::/) complain("not ours")
    else if (weak && name !~ /(^|[^a-z_])(boost|std|__gnu_cxx)::/ && subject !~ /^redlock::/) complain("unknown")
}
function complain(why) { print why ": " name; bad = 1 }
END {
    if (!seen) { print "the version is not there: is this the library?"; bad = 1 }
    exit bad
}
'
