#!/bin/bash
# Makes the Debian packages of the build, and uses them in a root of their own. The root holds the packages'
# dependencies, a shell and a compiler, copied from the packages installed here, and nothing else. ctest sets in the
# environment: SOURCE, BUILD, VERSION, SOVERSION, CMAKE, CPACK, GENERATOR, MAKE (the generator's program), CXX, FLAGS.
# Ends with 77 if no such root can be made.
set -euo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C

unshare=(unshare --mount --propagation private)
((EUID == 0)) || unshare+=(--map-root-user)
if ! "${unshare[@]}" true; then
    echo "not allowed to make a root of its own here"
    exit 77
fi
pkg_config=$(command -v pkg-config) || pkg_config=pkg-config
server=$(command -v redis-server) || server=redis-server
for tool in "$CXX" "$CMAKE" "$MAKE" "$pkg_config" "$server"; do
    dpkg-query -S "$(realpath "$tool")" &>/dev/null || {
        echo "$tool is of no package, so what it needs is not known"
        exit 77
    }
done

work=$(mktemp -d)
root=$work/root
servers=()
tidy() {
    ((${#servers[@]} == 0)) || { kill "${servers[@]}" && wait "${servers[@]}"; } 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap tidy EXIT

die() {
    echo "$*" >&2
    exit 1
}

# within <command...>: runs it in the root. Only that process sees the mounts, which end with it.
within() {
    # shellcheck disable=SC2016 # for the inner shell
    env -i HOME=/ PATH="$PATH" CXX="$CXX" FLAGS="$FLAGS" "${unshare[@]}" \
        sh -c 'mount --rbind /dev "$0/dev" && mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}

# hops <program...>: the paths of the program and of the links it goes through, one after the other.
hops() {
    local file
    for file; do
        echo "$file"
        while [[ -L $file ]]; do
            file=$(cd "$(dirname "$file")" && realpath -s "$(readlink "$file")")
            echo "$file"
        done
    done
}

# needed_by: reads packages from the standard input, in the form of a Depends field. Prints the packages that are installed
# here, with all their dependencies.
needed_by() {
    {
        cat
        echo
        dpkg-query -W -f '${db:Status-Abbrev}\t${binary:Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n'
    } | awk -F '\t' '
        function bare(name) { sub(/ *\(.*/, "", name); gsub(/ |:.*/, "", name); return name }
        function want(field, groups, choices, i, j, name) {
            split(field, groups, ",")
            for (i in groups) {
                split(groups[i], choices, "|")
                for (j = 1; j in choices; ++j) {
                    name = bare(choices[j])
                    if (name in real) { need(real[name]); break }
                }
            }
        }
        function need(package) {
            if (package in needed) return
            needed[package]
            print package
            want(depends[package])
        }
        NF == 1 { asked = asked "," $0 }
        $1 ~ /^ii/ {
            depends[$2] = $4
            real[bare($2)] = $2
            split($3, provided, ",")
            for (i in provided) if (!(bare(provided[i]) in real)) real[bare(provided[i])] = $2
        }
        END { want(asked) }'
}

# grow <package...>: adds these packages and all their dependencies to the root, as if they had been installed
# there.
grow() {
    local admin=$root/var/lib/dpkg package new=()
    while read -r package; do
        # The root knows packages that are only suggested, too.
        [[ $(dpkg-query --admindir="$admin" -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || new+=("$package")
    done < <(printf '%s\n' "$@" | needed_by)
    ((${#new[@]} == 0)) && return
    dpkg-query -L "${new[@]}" | grep '^/' | grep -vE '^/(\.|usr/share/(doc|info|locale|man)/.*)$' |
        tar -C / --no-recursion --ignore-failed-read -cf - -T - 2>"$work/log" |
        tar -C "$root" --keep-directory-symlink -xf -
    {
        dpkg-query -s "${new[@]}"
        echo
    } >>"$admin/status"
    for package in "${new[@]}"; do
        cp "/var/lib/dpkg/info/$package.list" "$admin/info/"
    done
}

# The archives, by the packages' names.
"$CPACK" --config "$BUILD/CPackConfig.cmake" -B "$work/packages"
architecture=$(dpkg --print-architecture)
library=$work/packages/libredlock${SOVERSION}_${VERSION}_$architecture.deb
dev=$work/packages/libredlock-dev_${VERSION}_$architecture.deb
command=$work/packages/redlock_${VERSION}_$architecture.deb
for package in "$library" "$dev" "$command"; do
    dpkg-deb -f "$package" Package Version Section Depends Suggests
    needs=$(dpkg-deb -f "$package" Depends)
    [[ $package == "$dev" || $needs == *libc6*libstdc++6* ]] || die "not found out what it depends on"
    name=$(dpkg-deb -f "$package" Package)
    grep -qF "\`$name\`" "$SOURCE/docs/install.md" || die "docs/install.md does not name the package $name"
done
[[ $(find "$work/packages" -maxdepth 1 -name '*.deb' | wc -l) == 3 ]] || die "there are other packages: $(ls "$work/packages")"
[[ $(dpkg-deb -f "$dev" Description) == *redlock::testing* ]] || die "not said that it has redlock::testing"

mkdir -p "$root"/{dev,proc,run,tmp,etc,var/lib/dpkg/{info,updates,triggers}} "$root"/usr/{bin,lib,lib32,lib64,libx32,sbin}
touch "$root/var/lib/dpkg/status"
for folder in bin lib lib32 lib64 libx32 sbin; do
    [[ ! -L /$folder ]] || cp -a "/$folder" "$root/"
done
cp -a /etc/alternatives /etc/ld.so.conf* "$root/etc/"

# install <archive...>: installs as dpkg does, which refuses a package with a missing dependency.
install() {
    "${unshare[@]}" dpkg --root="$root" --force-not-root --log=/dev/null -i "$@"
}

for server in 1 2 3; do
    redis-server --port 0 --unixsocket "$root/run/$server" --save '' --dir "$work" >"$work/server$server" &
    servers+=($!)
done

echo "== the command"
grow dash libc-bin "$(dpkg-deb -f "$command" Depends)"
install "$command"
within redlock --version | tee "$work/said"
grep -qF "$VERSION" "$work/said"
for server in 1 2 3; do
    for ((wait = 0; wait < 1200; ++wait)); do
        [[ ! -S $root/run/$server ]] || break
        sleep 0.05
    done
    [[ -S $root/run/$server ]] || die "master $server did not begin to listen: $(cat "$work/server$server")"
done
# shellcheck disable=SC2016 # for the inner shell
within redlock run --node unix:///run/1 --node unix:///run/2 --node unix:///run/3 packed -- \
    sh -c 'echo "$REDLOCK_RESOURCE, token $REDLOCK_FENCING_TOKEN"' | tee "$work/said"
grep -qE '^packed, token [1-9][0-9]*$' "$work/said"
within redlock demo --help >"$work/said"
grep -F 'Usage: redlock demo' "$work/said"
# bench and demo start nodes. Without a package that has a server they say so.
if within redlock bench --local 3 --seconds 0.2 &>"$work/said"; then
    die "masters that are in no package that is here"
fi
grep -F 'no redis-server in PATH' "$work/said"
grow "$(dpkg-deb -f "$command" Suggests)"
within redlock bench --local 3 --seconds 0.2 --workers 4 | tee "$work/said"
grep -qF 'cycles/s' "$work/said"
# The demo counts it as a failure if a node gets no processor for a node timeout, as on a busy machine.
# Then it runs once more, unless two workers held one lock.
demo() { within redlock demo --local 3 --seconds 1 --workers 4 | tee "$work/said"; }
demo || { ! grep -q 'held twice at a time' "$work/said" && demo; }
for page in redlock redlock-run redlock-doctor redlock-bench redlock-demo; do
    zcat "$root/usr/share/man/man1/$page.1.gz" >"$work/page"
    # man(1) and apropos(1) look here for a page's subject. A roff's hyphen is a minus sign.
    grep -qF "${page/-/\\-} \- " "$work/page" || die "no manual of $page"
done
for file in bash-completion/completions/redlock zsh/vendor-completions/_redlock fish/vendor_completions.d/redlock.fish; do
    [[ -s $root/usr/share/$file ]] || die "no $file"
done

echo "== the library"
mapfile -t tools < <(hops "$CXX" "$CMAKE" "$MAKE" "$pkg_config")
# Alternatives belong to no package.
mapfile -t owners < <(dpkg-query -S "${tools[@]}" 2>/dev/null | sed 's/[:,].*//')
grow "${owners[@]}" "$(dpkg-deb -f "$library" Depends)" "$(dpkg-deb -f "$dev" Depends)"
tar -C / -cf - "${tools[@]#/}" | tar -C "$root" --keep-directory-symlink -xf -
install "$library" "$dev"
mkdir "$root/user"
cp "$(dirname "$0")"/{CMakeLists.txt,main.cpp,testing.cpp} "$root/user/"

within "$CMAKE" -S /user -B /user/build -G "$GENERATOR" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS="$FLAGS" \
    -DREDLOCK_FROM=find_package
within "$CMAKE" --build /user/build
within /user/build/user
within /user/build/user_test
readelf -d "$root/user/build/user" | grep -F "[libredlock.so.$SOVERSION]"

# shellcheck disable=SC2016 # for the inner shell
within sh -c '$CXX -std=c++20 $FLAGS /user/main.cpp $(pkg-config --cflags --libs redlock) -o /user/user'
within /user/user
# shellcheck disable=SC2016 # for the inner shell
within sh -c '$CXX -std=c++20 $FLAGS /user/testing.cpp $(pkg-config --cflags --libs redlock redlock-testing) -o /user/user_test'
within /user/user_test

echo "== nothing is left"
for package in "$library" "$dev" "$command"; do
    name=$(dpkg-deb -f "$package" Package)
    for file in copyright changelog.gz; do
        [[ -s $root/usr/share/doc/$name/$file ]] || die "$name comes without $file"
    done
    names+=("$name")
done
"${unshare[@]}" dpkg --root="$root" --force-not-root --log=/dev/null -P "${names[@]}"
! find "$root/usr" "$root/etc" -iname '*redlock*' | grep .
