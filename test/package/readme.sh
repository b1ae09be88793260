#!/bin/bash
# usage: readme.sh <install|packages>
# Runs the commands that the README gives for it, word for word, at a home of its own: whatever would stay on the system goes
# nowhere else. What takes long is not done again: builds are planned only, as they are read from the options of the README,
# and what is installed or packed is what BUILD has. From ctest, in the environment: SOURCE, BUILD, CMAKE, CPACK, GENERATOR,
# CXX, FLAGS.
set -euo pipefail
export SOURCE BUILD CMAKE CPACK CMAKE_GENERATOR=$GENERATOR CXX CXXFLAGS=$FLAGS
work=$(mktemp -d)
servers=()
tidy() {
    ((${#servers[@]} == 0)) || { kill "${servers[@]}" && wait "${servers[@]}"; } 2>/dev/null || true
    rm -rf "$work"
}
trap tidy EXIT
mkdir -p "$work"/{home,clone,bin,user}
export HOME=$work/home PATH=$work/bin:$PATH WORK=$work
unset XDG_CONFIG_HOME "${!REDLOCK_@}"

die() {
    echo "$*" >&2
    exit 1
}

# What a clone has, and room for a build in it.
for file in "$SOURCE"/*; do
    [[ $(basename "$file") == build ]] || ln -s "$file" "$work/clone/"
done

cat >"$work/bin/cmake" <<'END'
#!/bin/bash
set -euo pipefail
case $1 in
    -B)
        # An option that there is no more would only be warned about.
        "$CMAKE" "$@" 2>&1 | tee "$WORK/log"
        ! grep -A3 'not used by the project' "$WORK/log"
        ;;
    --build) exec "$CMAKE" --build "$2" "${@:3}" -- -n >"$WORK/log" ;;
    --install) exec "$CMAKE" --install "$BUILD" "${@:3}" >"$WORK/log" ;;
    *) echo "the README says cmake $*, which this test does not know" >&2 && exit 1 ;;
esac
END
cat >"$work/bin/cpack" <<'END'
#!/bin/bash
exec "$CPACK" --config "$BUILD/CPackConfig.cmake" -B "$PWD" "$@"
END
cat >"$work/bin/sudo" <<'END'
#!/bin/bash
# "apt install" of files: that these are there, and packages.
set -euo pipefail
[[ $1 == apt && $2 == install ]]
for package in "${@:3}"; do
    dpkg-deb -f "$package" Package >>"$WORK/names"
done
END
chmod +x "$work"/bin/*

# block <its beginning>: the lines of a block of commands, or of CMake's, of the README.
block() {
    local found
    found=$(awk -v begin="$1" '
        !inside && index($0, begin) == 1 { inside = 1 }
        inside && (/^$/ || /^```/) { exit }
        inside { sub(/^    /, ""); print }' "$SOURCE/README.md")
    [[ -n $found ]] || die "the README has no block that begins with '$1'"
    echo "$found"
}

# run <commands>: in the clone, as by a user's shell.
run() {
    sed 's/^/$ /' <<<"$1"
    (cd "$work/clone" && bash -euo pipefail -c "$1")
}

# await <server>: until there is its socket; for at most a minute.
await() {
    for ((wait = 0; wait < 1200; ++wait)); do
        [[ ! -S $work/$1 ]] || return 0
        sleep 0.05
    done
    die "master $1 did not begin to listen: $(cat "$work/server$1")"
}

# uses <name> <block of CMake's> <argument to cmake...>: a user's project of the two.
uses() {
    mkdir "$work/user/$1"
    {
        echo 'cmake_minimum_required(VERSION 3.25)'
        echo 'project(user LANGUAGES CXX)'
        echo "add_executable(app $SOURCE/docs/examples/first_lock.cpp)"
        echo "$2"
    } >"$work/user/$1/CMakeLists.txt"
    "$CMAKE" -S "$work/user/$1" -B "$work/user/$1/build" "${@:3}"
}

# with <text> <part of it> <other>: the text, with the other instead.
with() {
    [[ $1 == *"$2"* ]] || die "the README does not say '$2' where it was looked for"
    echo "${1//"$2"/"$3"}"
}

case $1 in
    install)
        commands=$(block '    cmake -B build/install')
        run "$commands"
        redlock=$HOME/.local/bin/redlock
        [[ -x $redlock ]] || die "no command in ~/.local/bin"
        # All of the command, and nothing else of the benchmarks.
        "$CMAKE" --build "$work/clone/build/install" --target help >"$work/targets"
        grep -qF redlock_bench_commands "$work/targets" || die "bench and demo would not be built"
        ! grep -F redlock-keep "$work/targets" || die "the benchmarks would be built"
        "$redlock" demo --help >"$work/said"
        grep -F 'Usage: redlock demo' "$work/said"
        "$redlock" bench --local 3 --seconds 0.2 --workers 4 | tee "$work/said"
        grep -qF 'cycles/s' "$work/said"
        found=$(find "$HOME/.local" -name '*bench*' ! -name 'redlock-bench.1')
        [[ -z $found ]] || die "benchmarks were installed: $found"

        prefix=$(grep -oE -m1 -- '-DCMAKE_PREFIX_PATH=[^`]+' "$SOURCE/README.md") ||
            die "the README does not say where find_package is to look"
        found=$(block 'find_package(redlock')
        precompiled=$(grep -oE -m1 'target_precompile_headers\([^`]+' "$SOURCE/README.md") ||
            die "the README does not say how the header is precompiled"
        uses installed "$found"$'\n'"$precompiled" "$(eval echo "$prefix")"
        "$CMAKE" --build "$work/user/installed/build"
        fetched=$(block 'include(FetchContent)')
        fetched=$(with "$fetched" /path/to/the/clone "$work/clone")
        uses fetched "$fetched"

        nodes=()
        for server in 1 2 3; do
            redis-server --port 0 --unixsocket "$work/$server" --save '' --dir "$work" >"$work/server$server" &
            servers+=($!)
            nodes+=("unix://$work/$server")
        done
        for server in 1 2 3; do
            await "$server"
        done
        commands=$(block '    export PKG_CONFIG_PATH')
        # The masters are others; nothing else is.
        commands=$(with "$commands" ' redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3' " ${nodes[*]}")
        run "$commands" | tee "$work/said"
        grep -q '^orders/42 is ours for ' "$work/said"
        "$work/user/installed/build/app" "${nodes[@]}"
        ;;
    packages)
        commands=$(block '    cmake -B build/deb')
        run "$commands"
        sed -n '/cpack.* makes packages of it/,/^$/p' "$SOURCE/README.md" | grep -oE '`(lib)?redlock[a-z0-9.-]*`' |
            tr -d '`' | sort >"$work/promised"
        (($(wc -l <"$work/promised") == 3)) || die "the README does not name three packages, but: $(cat "$work/promised")"
        sort "$work/names" | diff "$work/promised" - || die "other packages than the README says"
        ;;
    *)
        echo "usage: readme.sh install|packages" >&2
        exit 2
        ;;
esac
