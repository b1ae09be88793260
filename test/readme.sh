#!/bin/bash
# usage: readme.sh <root of the source tree>
# The README's program is docs/examples/first_lock.cpp, all of it.
set -euo pipefail
cd "$1"

diff <(sed -n '/^```cpp$/,/^```$/{/^```/!p}' README.md) docs/examples/first_lock.cpp
