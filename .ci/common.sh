# shellcheck shell=bash
# Sourced by quickstart, test/run and .ci/run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# ccache, where there is one, finds what another clone compiled, whatever folder that is in.
use_ccache() {
    if command -v ccache >/dev/null; then
        export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    fi
}
use_ccache
build_jobs=${JOBS:-$(nproc)}
# Tests that build something follow it too.
export CMAKE_BUILD_PARALLEL_LEVEL=$build_jobs

# build <preset> [target...]: configures and builds, all or these, with the log shown only when something fails.
build() {
    local preset=$1 log=build/$1.log
    shift
    mkdir -p build
    if ! { cmake --preset "$preset" && cmake --build --preset "$preset" "${@/#/--target=}"; } \
        >"$log" 2>&1 </dev/null; then
        # The errors first; the whole log stays where it is.
        grep -nE 'error|Error|FAILED' "$log" | head -n 50 || true
        tail -n 60 "$log"
        echo "the build failed; all of its output is in $log" >&2
        return 1
    fi
}
