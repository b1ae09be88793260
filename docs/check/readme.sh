#!/bin/bash
# usage: readme.sh <root of the source tree>
# The program of the README is docs/examples/readme.cpp. Its badges name version, licence and standard, and come from no other
# host. It is short. Three pages build the first program in one way. The list of examples has all of them, and no
# others. Each example opens with what it shows and how to run it, and has at most two screens.
set -euo pipefail
cd "$1"

complain()
{
    echo "README.md: $1"
    exit 1
}

diff <(sed -n '/^```cpp$/,/^```$/{/^```/!p}' README.md) docs/examples/readme.cpp || complain "its program is not readme.cpp"
((words = $(wc -w <README.md))) && ((words <= 900)) || complain "it has $words words, and 900 is the most"

part() { sed -En "s/^#define REDLOCK_VERSION_$1 ([0-9]+).*/\1/p" include/redlock/version.hpp; }
version="$(part MAJOR).$(part MINOR).$(part PATCH)"
grep -qF "![Version $version](docs/pictures/version.svg)" README.md || complain "its badge is not of version $version"
grep -qF ">$version<" docs/pictures/version.svg || complain "docs/pictures/version.svg is not of version $version"
grep -qF '>BSL-1.0<' docs/pictures/license.svg && grep -q '^Boost Software License - Version 1.0' LICENSE ||
    complain "docs/pictures/license.svg does not name the licence of LICENSE"
grep -qF '>20<' docs/pictures/cpp20.svg && grep -qF cxx_std_20 CMakeLists.txt ||
    complain "docs/pictures/cpp20.svg does not name the standard that CMake asks for"
! grep -nE '!\[[^]]*\]\(https?:' README.md || complain "a picture comes from another host"

for page in docs/install.md docs/tutorial.md docs/guides/first_lock.md; do
    grep -qF '    g++ -std=c++20 docs/examples/first_lock.cpp -o first_lock $(pkg-config --cflags --libs redlock)' "$page" ||
        complain "$page builds the first program in another way"
done
diff <(cd docs/examples && ls ./*.cpp) <(grep -oE '^\| \[[a-z_]+\]\([a-z_]+\.cpp\)' docs/examples/README.md | sed 's|.*(|./|; s|)||' | sort)

for file in docs/examples/*.[ch]pp; do
    ((lines = $(wc -l <"$file"))) && ((lines <= 125)) || complain "$file has $lines lines, and 125 is the most"
    [[ $file != */readme.cpp ]] || continue  # the README says it
    [[ $(head -c 3 "$file") == "// " ]] || complain "$file does not open with what it shows"
    [[ $file == *.hpp ]] || grep -q '^// .*Run it' "$file" || complain "$file does not say how to run it"
done
