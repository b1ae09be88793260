#!/bin/bash
# usage: readme.sh <root of the source tree>
# The README's program is docs/examples/first_lock.cpp, and the files it links to are there. The list of examples has
# all of them, and no others.
set -euo pipefail
cd "$1"

diff <(sed -n '/^```cpp$/,/^```$/{/^```/!p}' README.md) docs/examples/first_lock.cpp
grep -oE '\]\([^):#]+\)' README.md | tr -d '])(' | xargs ls -d >/dev/null
diff <(cd docs/examples && ls ./*.cpp) <(grep -oE '^\| \[[a-z_]+\]\([a-z_]+\.cpp\)' docs/examples/README.md | sed 's|.*(|./|; s|)||' | sort)
