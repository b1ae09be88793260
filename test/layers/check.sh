#!/bin/bash
# usage: check.sh <root of the source tree>
# Which file may include what: a layer includes itself and those below, and below the engine there is no Asio,
# clock, randomness, thread or socket; the nodes for tests are beside the client. In the core, a part includes itself and the
# parts below it. Prints one line a violation: <file>: <rule>: <what was found>.
set -euo pipefail
cd "$1"

shopt -s globstar nullglob
files=(include/redlock/**/*.hpp lib/**/*.hpp lib/**/*.cpp)
if ((${#files[@]} == 0)); then
    echo "$1: no sources found" >&2
    exit 2
fi

awk '
function complain(rule, what) { print FILENAME ": " rule ": " what; bad = 1 }

# The layer of a file or of an include of our own, as a number; -1 for what is not ours.
function layer(path) {
    if (path ~ /^(include\/)?redlock\/testing\//) return 6
    if (path ~ /^(include\/)?redlock\/(error|config|credentials|keep_alive|reentrant_owner|report|resource_names|result|stats|log|version|detail\/(export|built_with))\.hpp$/) return 0
    if (path ~ /^(include\/)?redlock\/(clock|detail\/asio_built_with)\.hpp$/) return 4
    if (path ~ /^(include\/)?redlock\//) return 5
    sub(/^lib\//, "", path)
    if (path ~ /^base\//) return 1
    if (path ~ /^resp\//) return 2
    if (path ~ /^core\//) return 3
    if (path ~ /^engine\//) return 4
    if (path ~ /^(scope|load|cli)\//) return 5
    if (path ~ /^testing\//) return 6
    return -1
}

# The part of the core to which a file or an include belongs: records of all parts, node, quorum, contention beside renewal,
# leases, operations, and what the engine calls; 0 outside the core.
function part(path) {
    sub(/^lib\//, "", path)
    if (path !~ /^core\//) return 0
    if (path ~ /^core\/node\//) return 2
    if (path ~ /^core\/quorum\//) return 3
    if (path ~ /^core\/contention\//) return 4
    if (path ~ /^core\/renewal\//) return 4.5
    if (path ~ /^core\/leases\./) return 5
    if (path ~ /^core\/operations\//) return 6
    if (path ~ /^core\/(client_core|network)\./) return 7
    return 1
}

FNR == 1 {
    own_part = part(FILENAME)
    public = FILENAME ~ /^include\//
    own = layer(FILENAME)
    if (own < 0) own = 5                     # lib/*.cpp, lib/scope, lib/load and lib/cli: the facade
    pure = own < 4
}

{ code = $0; sub(/\/\/.*/, "", code) }
code ~ /^ *\/?\*/ { next }

match(code, /^[ \t]*#[ \t]*include[ \t]*[<"][^>"]+/) {
    name = substr(code, RSTART, RLENGTH)
    quoted = name ~ /"/
    sub(/.*[<"]/, "", name)
    its = layer(name)
    if (quoted && its < 0) complain("path", name " is not written from lib/")
    if (quoted && its != -1 && name ~ /^redlock\//) complain("path", name " needs <>")
    its_part = part(name)
    if (own_part > 0 && (its_part > own_part || (own_part == 4.5 && its_part == 4))) complain("part", name)
    if (public && its > 0 && name !~ /^redlock\//) complain("public", name " is not installed")
    if (public && quoted) complain("public", name " in quotes")
    # The engine shares the headers in detail/ with the public headers.
    if (its > own && !(own == 4 && name ~ /^redlock\/detail\//)) complain("layer", name)
    if (own == 6 && its > 1 && its < 6 && name != "redlock/detail/asio_built_with.hpp") complain("layer", name)
    if (pure && name ~ /^boost\/asio/) complain("asio", name)
    if (pure && name ~ /^(random|thread|mutex|shared_mutex|condition_variable|future|semaphore|stop_token|latch|barrier|ctime|time\.h|sys\/time\.h|pthread\.h|sys\/random\.h|sys\/socket\.h|poll\.h|sys\/epoll\.h|netdb\.h|fstream|iostream|openssl\/.*)$/ &&
        !(FILENAME == "lib/base/system_entropy.cpp" && name == "sys/random.h"))
        complain("world", name)
    next
}

pure && match(code, /(_clock|Clock)::now *\(|clock_gettime *\(|gettimeofday *\(|(^|[^a-z_.>])(rand|srand|time|usleep|nanosleep|sleep) *\(/) {
    complain("call", substr(code, RSTART, RLENGTH))
}
pure && FILENAME != "lib/base/system_entropy.cpp" && match(code, /getrandom *\(|getentropy *\(|random_device|mt19937/) {
    complain("call", substr(code, RSTART, RLENGTH))
}
END { exit bad }
' "${files[@]}"
