#!/bin/bash
# usage: links.sh <root of the source tree>
# What the pages link to within the tree is there, and so are the headings that they name. Asks no network.
set -euo pipefail
cd "$1"

# The links of a page, one a line: no images of other sites, nothing within code.
links()
{
    awk '/^ *```/ { code = !code; next } !code && !/^    / { gsub(/`[^`]*`/, ""); print }' "$1" |
        grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' || true
}

# The names that GitHub gives to the headings of a page.
anchors()
{
    awk '/^ *```/ { code = !code; next } !code && /^#+ / { sub(/^#+ +/, ""); print }' "$1" |
        sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g; s/[^[:alnum:] _-]//g; s/ /-/g' | tr '[:upper:]' '[:lower:]' |
        awk '{ print seen[$0]++ ? $0 "-" (seen[$0] - 1) : $0 }'
}

failed=0
checked=0
complain()
{
    echo "$1"
    failed=1
}

while IFS= read -r page; do
    while IFS= read -r link; do
        case "$link" in
            http://* | https://* | mailto:*) continue ;;
        esac
        checked=$((checked + 1))
        path="${link%%#*}"
        target="$page"
        if [[ -n $path ]]; then
            target="$(dirname "$page")/$path"
        fi
        if [[ ! -e $target ]]; then
            complain "$page: $link is not there"
        elif [[ $link == *#* ]]; then
            if [[ $target != *.md ]] || ! grep -qxF -- "${link#*#}" <<<"$(anchors "$target")"; then
                complain "$page: $link: no such heading"
            fi
        fi
    done < <(links "$page")
done < <(find . -name '*.md' -not -path './build*' -not -path './.git/*' -not -path '*/node_modules/*' | sort)

if [[ $checked -lt 50 ]]; then
    complain "only $checked links were found: are they looked for where they are?"
fi
exit $failed
