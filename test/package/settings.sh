#!/bin/bash
# usage: settings.sh
# Compiles units with other options than the library's. The linker must name the setting that differs; where the options make
# no difference, the program must run. From run.sh, in the environment: SOURCE, CXX, FLAGS (the library's), PKG_CONFIG_PATH
# and LD_LIBRARY_PATH (of the installed library).
set -euo pipefail
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
read -ra cflags <<<"$FLAGS $(pkg-config --cflags redlock redlock-testing)"
read -ra libs <<<"$(pkg-config --libs redlock redlock-testing)"
failures=0

fail() {
    echo "$*"
    failures=$((failures + 1))
}

# compile <object> <header> <option...>
compile() {
    "$CXX" -std=c++20 "${cflags[@]}" -DHEADER="<redlock/$2>" "${@:3}" -c "$here/settings.cpp" -o "$1"
}

# link <object or option...>
link() {
    "$CXX" "${cflags[@]}" "$@" "${libs[@]}" -o user
}

# refused <settings> <object or option...>: the linker must name these settings and no others.
refused() {
    local named
    if link "${@:2}" &>log; then
        fail "linked, though the library differs in $1"
        return
    fi
    named=$(grep -oP 'library_built_with<redlock::setting::\K\w+<[^>]*>' log | sort -u | xargs || true)
    [[ $named == "$1" ]] || fail "the linker named '$named', not '$1': $(cat log)"
}

# differs <settings> <header> <option...>: a unit that uses the header, with these options, must not link.
differs() {
    compile differs.o "${@:2}"
    refused "$1" differs.o
}

# agrees <option...>: a client that was compiled with these options must link and run.
agrees() {
    compile agrees.o client.hpp -DUSER_RUNS "$@"
    { link agrees.o "$@" && ./user; } || fail "does not run with these options: $*"
}

# Every setting has a case here and a row in the table for users. The README names seven of them.
settings=$(sed -nE 's/^struct REDLOCK_API (\w+);$/\1/p' "$SOURCE"/include/redlock/detail/*built_with.hpp)
[[ -n $settings ]] || fail "no settings found"
for setting in $settings; do
    grep -qE "^(differs|refused) .*\b$setting<" "$here/settings.sh" || fail "no case for $setting"
    grep -qE "^\|.*\`$setting<" "$SOURCE/docs/guides/compile.md" || fail "docs/guides/compile.md does not have $setting"
done
while read -r setting words; do
    grep -qw "$setting" <<<"$settings" || fail "no setting $setting"
    sed -n '/^## Install/,/^## Guarantees/p' "$SOURCE/README.md" | tr '\n' ' ' | grep -F -- "$words" >/dev/null ||
        fail "README.md does not say '$words', for $setting"
done <<'END'
boost_version Boost's version
rtti `-fno-rtti`
glibcxx_debug `_GLIBCXX_DEBUG`
glibcxx_cxx11_abi string ABI
asio_threads threads
asio_epoll epoll
asio_handler_tracking handler tracking
END

agrees
agrees -O2 -DNDEBUG
agrees -std=c++23 -D_GLIBCXX_ASSERTIONS

# The tests may have only one Boost. The headers say which one.
mkdir boost
printf '#define BOOST_VERSION 109200\n#define BOOST_LIB_VERSION "1_92"\n' >boost/version.hpp
differs 'boost_version<1, 92, 0>' client.hpp -I.
differs 'rtti<false>' client.hpp -fno-rtti
differs 'asio_exceptions<false>' client.hpp -DBOOST_ASIO_NO_EXCEPTIONS
differs 'asio_threads<false>' client.hpp -DBOOST_ASIO_DISABLE_THREADS
differs 'asio_thread_keyword<false>' client.hpp -DBOOST_ASIO_DISABLE_THREAD_KEYWORD_EXTENSION
differs 'asio_ts_executor<true>' client.hpp -DBOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT
# Not every Boost has a macro for the timerfd alone.
differs 'asio_epoll<false> asio_timerfd<false>' client.hpp -DBOOST_ASIO_DISABLE_EPOLL
differs 'asio_io_uring<true>' client.hpp -DBOOST_ASIO_HAS_IO_URING
differs 'asio_eventfd<false>' client.hpp -DBOOST_ASIO_DISABLE_EVENTFD
differs 'asio_handler_tracking<true>' client.hpp -DBOOST_ASIO_ENABLE_HANDLER_TRACKING
differs 'asio_buffer_debugging<true>' client.hpp -DBOOST_ASIO_ENABLE_BUFFER_DEBUGGING
differs 'asio_recycling_allocator_cache_size<6>' client.hpp -DBOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=6
differs 'asio_handler_recycling<false>' client.hpp -DBOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING
differs 'asio_handler_recycling<false>' client.hpp -DBOOST_ASIO_DISABLE_HANDLER_HOOKS
differs 'asio_handler_recycling<false>' client.hpp -DBOOST_ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING
differs 'asio_buffer_debugging<true> glibcxx_debug<true>' client.hpp -D_GLIBCXX_DEBUG
differs 'glibcxx_cxx11_abi<false>' client.hpp -D_GLIBCXX_USE_CXX11_ABI=0

# Each header that has such types, by itself.
differs 'glibcxx_debug<true>' config.hpp -D_GLIBCXX_DEBUG
differs 'glibcxx_debug<true>' report.hpp -D_GLIBCXX_DEBUG
differs 'rtti<false>' scope.hpp -fno-rtti
differs 'rtti<false>' testing/scripted_node.hpp -fno-rtti

# One unit of several, and a linker that drops unused sections.
compile agrees.o client.hpp
compile differs.o client.hpp -fno-rtti -DUSER_HAS_NO_MAIN
refused 'rtti<false>' agrees.o differs.o
compile differs.o client.hpp -fno-rtti -O2 -ffunction-sections -fdata-sections
refused 'rtti<false>' -Wl,--gc-sections differs.o
compile differs.o client.hpp -fno-rtti -O2 -flto
refused 'rtti<false>' -O2 -flto differs.o
exit $((failures > 0))
