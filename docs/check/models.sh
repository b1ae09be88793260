#!/bin/bash
# usage: models.sh <root of the source tree>
# Checks that the table in docs/design/evidence/models.md has the variants of run.sh in the same order, with their
# expected results.
set -euo pipefail
cd "$1"

diff <(sed -nE 's/^\| `([a-z_]+)` \|.*\| (holds|fails) \| [0-9]+ \|$/\1 \2/p' docs/design/evidence/models.md) \
    <(test/model/run.sh --list)
