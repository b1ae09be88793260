#!/bin/bash
# usage: readme.sh <root of the source tree>
# The README's program is docs/examples/first_lock.cpp, all of it. The list of examples has all of them, and no others.
set -euo pipefail
cd "$1"

diff <(sed -n '/^```cpp$/,/^```$/{/^```/!p}' README.md) docs/examples/first_lock.cpp
diff <(cd docs/examples && ls ./*.cpp) <(grep -oE '^\| \[[a-z_]+\]\([a-z_]+\.cpp\)' docs/examples/README.md | sed 's|.*(|./|; s|)||' | sort)
