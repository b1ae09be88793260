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
    [[ -n $found ]] || { echo "the README has no block that begins with '$1'" >&2 && return 1; }
    echo "$found"
}

# run <commands>: in the clone, as by a user's shell.
run() {
    sed 's/^/$ /' <<<"$1"
    (cd "$work/clone" && bash -euo pipefail -c "$1")
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

case $1 in
    install)
        run "$(block '    cmake -B build/install')"
        [[ -x $HOME/redlock/bin/redlock ]] || { echo "no command in ~/redlock/bin" >&2 && exit 1; }
        prefix=$(grep -oE -m1 -- '-DCMAKE_PREFIX_PATH=[^`]+' "$SOURCE/README.md")
        uses installed "$(block 'find_package(redlock')" "$(eval echo "$prefix")"
        "$CMAKE" --build "$work/user/installed/build"
        fetched=$(block 'include(FetchContent)')
        uses fetched "${fetched//\/path\/to\/the\/clone/$work/clone}"

        nodes=()
        for server in 1 2 3; do
            redis-server --port 0 --unixsocket "$work/$server" --save '' --dir "$work" >"$work/server$server" &
            servers+=($!)
            nodes+=("unix://$work/$server")
        done
        for server in 1 2 3; do
            for ((wait = 0; wait < 200; ++wait)); do
                [[ -S $work/$server ]] && break
                sleep 0.05
            done
        done
        commands=$(block '    export PKG_CONFIG_PATH')
        # The masters are others; nothing else is.
        commands=$(sed -E "/^\.\//s| redis://.*| ${nodes[*]}|" <<<"$commands")
        run "$commands" | tee "$work/said"
        grep -q '^orders/42 is ours for ' "$work/said"
        "$work/user/installed/build/app" "${nodes[@]}"
        ;;
    packages)
        run "$(block '    cmake -B build/deb')"
        for package in $(grep -oE '`(lib)?redlock[a-z0-9.-]*`, `libredlock-dev`, and' "$SOURCE/README.md" |
            grep -oE '(lib)?redlock[a-z0-9.-]*') redlock; do
            grep -qxF "$package" "$work/names" || { echo "no package $package" >&2 && exit 1; }
        done
        ;;
    *)
        echo "usage: readme.sh install|packages" >&2
        exit 2
        ;;
esac
