#!/bin/bash
# Builds the library once more, in another folder and without ccache, and demands the same bytes. ctest sets in the
# environment: SOURCE, LIBRARY (the library that was built), KIND (whether it is shared), UNITY (whether several sources
# are compiled as one), TYPE (of build), CMAKE, GENERATOR, CXX, FLAGS.
set -euo pipefail
# At most two compilers at a time, as PROCESSORS says.
[[ ${CMAKE_BUILD_PARALLEL_LEVEL-} == 1 ]] || export CMAKE_BUILD_PARALLEL_LEVEL=2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/elsewhere"
cp -R "$SOURCE"/{CMakeLists.txt,include,lib} "$work/elsewhere"
export CCACHE_DISABLE=1
"$CMAKE" -S "$work/elsewhere" -B "$work/built" -G "$GENERATOR" -DCMAKE_BUILD_TYPE="$TYPE" \
    -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS="$FLAGS" -DBUILD_SHARED_LIBS="$KIND" -DCMAKE_UNITY_BUILD="$UNITY" \
    -DREDLOCK_TESTS=OFF -DREDLOCK_BENCH=OFF -DREDLOCK_CLI=OFF -DREDLOCK_INSTALL=OFF
"$CMAKE" --build "$work/built" --target redlock
cmp "$LIBRARY" "$work/built/$(basename "$LIBRARY")"
