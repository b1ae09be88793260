#!/bin/bash
# usage: readme.sh <root of the source tree>
# The README begins with a few lines of docs/examples/first_lock.cpp, which snippets.sh finds there, and says how the whole
# of it is built, as the tutorial does. The list of examples has all of them, and no others.
set -euo pipefail
cd "$1"

complain()
{
    echo "README.md: $1"
    exit 1
}

example=$(sed -n '/^```cpp$/,/^```$/{/^```/!p}' README.md)
lines=$(wc -l <<<"$example")
((lines >= 5 && lines <= 15)) || complain "its example has $lines lines, not 15 at most"
while IFS= read -r line; do
    [[ $line == "// ..." ]] || grep -qF -- "$line" docs/examples/first_lock.cpp || complain "not of first_lock.cpp: $line"
done <<<"$example"
for page in README.md docs/tutorial.md; do
    grep -qF '    g++ -std=c++20 docs/examples/first_lock.cpp -o first_lock $(pkg-config --cflags --libs redlock)' "$page" ||
        complain "it and docs/tutorial.md build the program in two ways"
done
diff <(cd docs/examples && ls ./*.cpp) <(grep -oE '^\| \[[a-z_]+\]\([a-z_]+\.cpp\)' docs/examples/README.md | sed 's|.*(|./|; s|)||' | sort)

# Each client beside which redlock is set comes with what was looked at, its last word there, as comparison.md has it.
clients=0
while read -r client; do
    [[ $client == *" "* ]] || complain "does not say which $client was looked at"
    grep -E "^\| ${client%%[ ,]*} [^|]*\|" docs/comparison.md | grep -m1 -qF -- "${client##* }" ||
        complain "docs/comparison.md does not say that this was looked at: $client"
    clients=$((clients + 1))
done < <(sed -n '/^## Beside other clients/,/^Of each/s/^| \([A-Za-z][^|]*\) |.*/\1/p' README.md)
((clients >= 6)) || complain "sets redlock beside $clients clients: that is few"
