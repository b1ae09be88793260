#!/bin/bash
# usage: readme.sh <root of the source tree>
# The README's program is docs/examples/first_lock.cpp, and the files it links to are there.
set -euo pipefail
cd "$1"

diff <(sed -n '/^```cpp$/,/^```$/{/^```/!p}' README.md) docs/examples/first_lock.cpp
grep -oE '\]\([^):#]+\)' README.md | tr -d '])(' | xargs ls -d >/dev/null
