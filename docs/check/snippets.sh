#!/bin/bash
# usage: snippets.sh <root of the source tree>
# The C++ of the pages (```cpp) is also in a file that is compiled: an example, or a public header. Indentation
# does not matter; a line `// ...` leaves something out. Declarations that nobody compiles are ```c++.
set -euo pipefail
cd "$1"

without_indent()
{
    sed -E 's/^[ \t]+//' "$@"
}

declare -A compiled
for file in docs/examples/*.cpp include/redlock/*.hpp; do
    compiled[$file]=$'\n'"$(without_indent "$file")"$'\n'
done

# Whether one file has all parts of a block.
is_in()
{
    local rest="$2" part
    while [[ -n $rest ]]; do
        part="${rest%%$'\n// ...\n'*}"
        if [[ $part == "$rest" ]]; then
            rest=""
        else
            rest="${rest#*$'\n// ...\n'}"
        fi
        if [[ ${compiled[$1]} != *$'\n'"$part"$'\n'* ]]; then
            return 1
        fi
    done
}

failed=0
checked=0
look_for()
{
    local file
    checked=$((checked + 1))
    for file in "${!compiled[@]}"; do
        if is_in "$file" "$2"; then
            return
        fi
    done
    printf '%s: in no file that is compiled:\n%s\n\n' "$1" "$2"
    failed=1
}

while IFS= read -r page; do
    block=""
    inside=0
    while IFS= read -r line; do
        if [[ $inside == 0 && $line == '```cpp' ]]; then
            inside=1
            block=""
        elif [[ $inside == 1 && $line == '```' ]]; then
            inside=0
            look_for "$page" "${block%$'\n'}"
        elif [[ $inside == 1 ]]; then
            block+="$line"$'\n'
        fi
    done < <(without_indent "$page")
done < <(find README.md docs -name '*.md' | sort)

if [[ $checked -lt 5 ]]; then
    echo "only $checked blocks were found: are they looked for where they are?"
    failed=1
fi
exit $failed
