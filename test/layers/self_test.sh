#!/bin/bash
# usage: self_test.sh
# Plants one violation at a time in an empty tree; check.sh must find each, and must not cry wolf.
set -euo pipefail
check=$(dirname "$(realpath "$0")")/check.sh
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy"/include/redlock/{detail,testing} "$copy"/lib/{base,resp,core/{node,quorum,contention,renewal,operations},engine,scope,cli,testing}
failures=0

# plant <file> <rule expected, empty for none> <line of code>
plant() {
    local file=$copy/$1 found
    echo "$3" >"$file"
    found=$("$check" "$copy" || true)
    rm "$file"
    if [[ -z $2 && -n $found || -n $2 && $found != "$1: $2: "* ]]; then
        echo "planted in $1: $3"
        echo "    expected: ${2:-nothing}; found: ${found:-nothing}"
        failures=$((failures + 1))
    fi
}

plant lib/base/x.hpp layer '#include "resp/reader.hpp"'
plant lib/base/x.hpp layer '#include "core/core.hpp"'
plant lib/resp/x.cpp layer '#include "core/core.hpp"'
plant lib/core/x.cpp layer '#include "engine/engine.hpp"'
plant lib/core/x.cpp layer '#include <redlock/client.hpp>'
plant lib/engine/x.cpp layer '#include <redlock/client.hpp>'
plant lib/engine/x.cpp layer '#include "scope/watch.hpp"'
plant lib/scope/x.cpp layer '#include "testing/model_master.hpp"'
plant lib/engine/x.cpp layer '#include "cli/doctor/doctor.hpp"'
plant lib/x.cpp layer '#include "testing/model_master.hpp"'
plant lib/cli/x.cpp layer '#include <redlock/testing/scripted_node.hpp>'
plant include/redlock/redlock.hpp layer '#include <redlock/testing/scripted_node.hpp>'
plant lib/testing/x.cpp layer '#include "core/client_core.hpp"'
plant lib/testing/x.cpp layer '#include <redlock/client.hpp>'
plant lib/core/x.cpp layer '#include <redlock/detail/asio_built_with.hpp>'
plant include/redlock/report.hpp layer '#include <redlock/detail/asio_built_with.hpp>'
plant include/redlock/testing/x.hpp '' '#include <redlock/detail/asio_built_with.hpp>'
plant include/redlock/testing/x.hpp public '#include <testing/model_master.hpp>'
plant include/redlock/error.hpp layer '#include <redlock/client.hpp>'
plant lib/core/x.cpp layer '#include <redlock/clock.hpp>'
plant lib/core/x.cpp part '#include "core/node/node.hpp"'
plant lib/core/node/x.cpp part '#include "core/quorum/rounds.hpp"'
plant lib/core/quorum/x.cpp part '#include "core/contention/contention.hpp"'
plant lib/core/contention/x.cpp part '#include "core/renewal/renewals.hpp"'
plant lib/core/renewal/x.cpp part '#include "core/contention/contention.hpp"'
plant lib/core/contention/x.cpp part '#include "core/leases.hpp"'
plant lib/core/leases.cpp part '#include "core/operations/context.hpp"'
plant lib/core/operations/x.cpp part '#include "core/client_core.hpp"'
plant lib/core/x.cpp path '#include "../base/text.hpp"'
plant lib/core/x.cpp path '#include "redlock/error.hpp"'
plant include/redlock/x.hpp public '#include <core/core.hpp>'
plant include/redlock/x.hpp path '#include "redlock/error.hpp"'
plant lib/base/x.cpp asio '#include <boost/asio/buffer.hpp>'
plant include/redlock/config.hpp asio '#include <boost/asio/ip/tcp.hpp>'
plant lib/core/x.cpp world '#include <random>'
plant lib/core/x.cpp world '  #  include <mutex>'
plant lib/resp/x.cpp world '#include <sys/socket.h>'
plant lib/base/x.cpp world '#include <sys/random.h>'
plant lib/core/x.cpp call 'auto now = std::chrono::steady_clock::now();'
plant lib/core/x.cpp call 'int r = std::rand();'
plant lib/base/x.cpp call 'std::mt19937 generator;'

plant lib/core/x.cpp '' '#include "resp/reader.hpp"'
plant lib/core/x.cpp '' '#include <redlock/error.hpp>'
plant lib/core/x.cpp '' '// steady_clock::now() is for those above'
plant lib/core/x.cpp '' 'next_time(x); c.time(y);'
plant lib/core/operations/x.cpp '' '#include "core/contention/contention.hpp"'
plant lib/core/client_core.cpp '' '#include "core/operations/coroutines.hpp"'
plant lib/base/system_entropy.cpp '' '#include <sys/random.h>'
plant lib/engine/x.cpp '' '#include <boost/asio/ip/tcp.hpp>'
plant lib/scope/x.cpp '' '#include <redlock/client.hpp>'
plant lib/x.cpp '' '#include "scope/watch.hpp"'
plant lib/engine/x.cpp '' '#include <redlock/detail/handler.hpp>'
plant lib/engine/x.cpp '' '#include <redlock/clock.hpp>'
plant include/redlock/lock.hpp '' '#include <redlock/clock.hpp>'
plant lib/x.cpp '' '#include "engine/engine.hpp"'
plant lib/cli/x.cpp '' '#include "cli/doctor/doctor.hpp"'
plant lib/testing/x.cpp '' '#include <boost/asio/ip/tcp.hpp>'
plant lib/testing/x.cpp '' '#include <redlock/testing/scripted_node.hpp>'
plant lib/testing/x.cpp '' '#include "base/instant.hpp"'
plant include/redlock/x.hpp '' '#include <redlock/detail/handler.hpp>'

((failures == 0)) && echo "every planted violation was found"
