#!/bin/bash
# usage: run.sh <find_package|pkg_config|add_subdirectory|FetchContent|standards|settings>
# Builds and runs a user's program in a folder of its own. With
#   add_subdirectory: only compiles it, because FetchContent does the same and also builds the library, which takes long,
#     as C++23 and without TLS;
#   standards: compiles the parts that differ with TLS as C++23, the program too, and the part that docs/install.md says
#     works without exceptions, with each of the project's compilers that is here, whichever built the library;
#   settings: compares compiler options, as settings.sh says.
# ctest sets in the environment: SOURCE and BUILD (the library's trees), CMAKE, GENERATOR, CXX, FLAGS.
set -euo pipefail
# At most two compilers at a time, as PROCESSORS says.
[[ ${CMAKE_BUILD_PARALLEL_LEVEL-} == 1 ]] || export CMAKE_BUILD_PARALLEL_LEVEL=2
way=$1
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# configure <argument to cmake...>
configure() {
    "$CMAKE" -S "$here" -B "$work/build" -G "$GENERATOR" -DCMAKE_CXX_COMPILER="$CXX" \
        -DCMAKE_CXX_FLAGS="$FLAGS" -DREDLOCK_FROM="$way" -DREDLOCK_SOURCE="$SOURCE" "$@"
}
build() {
    configure "$@"
    "$CMAKE" --build "$work/build"
    (cd "$work/build" && ctest --output-on-failure)
}

# Installs, then moves the tree: the installed files must not contain their place.
install() {
    "$CMAKE" --install "$BUILD" --prefix "$work/first" >"$work/log"
    mv "$work/first" "$work/installed"
    if grep -rIlF -e "$SOURCE" -e "$BUILD" "$work/installed"; then
        echo "installed files name the tree they were built in" >&2
        exit 1
    fi
    # The command has bench and demo. Only the project's developers need the benchmark programs.
    if find "$work/installed" -name '*bench*' ! -name redlock-bench.1 | grep .; then
        echo "benchmarks were installed" >&2
        exit 1
    fi
    libraries=$(dirname "$(find "$work/installed" -name 'libredlock.*' | head -n 1)")
}

case $way in
    find_package)
        install
        build -DCMAKE_PREFIX_PATH="$work/installed"
        ;;
    pkg_config)
        install
        export PKG_CONFIG_PATH=$libraries/pkgconfig
        read -ra flags <<<"$(pkg-config --cflags --libs redlock)"
        # shellcheck disable=SC2086 # FLAGS is a list
        "$CXX" -std=c++20 $FLAGS "$here/main.cpp" "${flags[@]}" -o "$work/user"
        LD_LIBRARY_PATH=$libraries "$work/user"
        # The user compiles Asio separately, and the library does not.
        echo '#include <boost/asio/impl/src.hpp>' >"$work/asio.cpp"
        # shellcheck disable=SC2086 # FLAGS is a list
        "$CXX" -std=c++20 $FLAGS -DBOOST_ASIO_SEPARATE_COMPILATION "$here/main.cpp" "$work/asio.cpp" \
            "${flags[@]}" -o "$work/user"
        LD_LIBRARY_PATH=$libraries "$work/user"
        read -ra flags <<<"$(pkg-config --cflags --libs redlock redlock-testing)"
        # shellcheck disable=SC2086 # FLAGS is a list
        "$CXX" -std=c++20 $FLAGS "$here/testing.cpp" "${flags[@]}" -o "$work/user_test"
        LD_LIBRARY_PATH=$libraries "$work/user_test"
        ;;
    standards)
        install
        export PKG_CONFIG_PATH=$libraries/pkgconfig
        read -ra flags <<<"$(pkg-config --cflags --libs redlock)"
        for compiler in g++ clang++-19; do
            command -v "$compiler" >/dev/null || continue
            echo "== $compiler -std=c++23"
            "$compiler" -std=c++23 "$here/main.cpp" "${flags[@]}" -o "$work/user"
            LD_LIBRARY_PATH=$libraries "$work/user"
            # FetchContent builds the whole library like this, except TLS.
            "$compiler" -std=c++23 -fsyntax-only -Wall -Wextra -Werror -DREDLOCK_HAS_TLS=1 \
                -I"$SOURCE/include" -I"$SOURCE/lib" "$SOURCE/lib/engine/tls_link.cpp"
            echo "== $compiler -fno-exceptions"
            "$compiler" -std=c++20 -fno-exceptions "$here/no_exceptions.cpp" "${flags[@]}" -o "$work/user"
            LD_LIBRARY_PATH=$libraries "$work/user"
        done
        ;;
    settings)
        install
        PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries "$here/settings.sh"
        ;;
    add_subdirectory)
        configure -DBUILD_SHARED_LIBS=ON
        "$CMAKE" --build "$work/build" --target user_object user_test_object
        ;;
    FetchContent) build -DCMAKE_UNITY_BUILD=ON -DREDLOCK_TLS=OFF -DREDLOCK_WERROR=ON -DCMAKE_CXX_STANDARD=23 ;;
    *)
        echo "unknown way: $way" >&2
        exit 2
        ;;
esac
