#!/bin/bash
# usage: documented.sh <root of the source tree>
# The table in docs/design/evidence/models.md has the variants that run.sh searches, in its order, and says what it expects.
set -euo pipefail
cd "$1"

diff <(sed -nE 's/^\| `([a-z_]+)` \|.*\| (holds|fails) \| [0-9]+ \|$/\1 \2/p' docs/design/evidence/models.md) \
    <(test/model/run.sh --list)
