#!/bin/bash
# usage: errors.sh <root of the source tree>
# The page of errors has every code and condition, every outcome of a node, every exit status of the command, and whatever
# its doctor finds. Each code has its source, its cause and a remedy. The page of the doctor has all findings
# and verdicts too, and the metrics of the page of alarms are fields of the statistics. The page of alarms has each line that the
# library or the command logs as a warning or an error. The page of the configuration file has
# a row for each option of the command that a file may have.
set -euo pipefail
cd "$1"

# The names of an enumeration in a file.
names_in()
{
    sed -n "/^enum $1 /,/^};/p" "$2" | grep -oE '^    [a-z_]+' | tr -d ' '
}

failed=0
checked=0
for name in $(names_in 'class errc' include/redlock/error.hpp) $(names_in 'class condition' include/redlock/error.hpp) \
    $(names_in 'class node_outcome' include/redlock/report.hpp); do
    checked=$((checked + 1))
    if ! grep -qF "| \`$name\` |" docs/errors.md; then
        echo "docs/errors.md has no row for $name"
        failed=1
    fi
done
for name in $(names_in 'class errc' include/redlock/error.hpp); do
    if ! grep -qE "^\| \`$name\` (\| *[^| ][^|]*){3}\|$" docs/errors.md; then
        echo "docs/errors.md does not say of $name who gives it, its cause, and what to do"
        failed=1
    fi
done
# JSON has the names of outcomes with underscores, so each has to be the enumerator's own.
while read -r name text; do
    checked=$((checked + 1))
    if [[ ${text// /_} != "$name" ]]; then
        echo "include/redlock/report.hpp calls the outcome $name '$text'"
        failed=1
    fi
done < <(sed -nE 's/.*case node_outcome::([a-z_]+): return "([a-z ]+)";/\1 \2/p' include/redlock/report.hpp)
# The reasons for which the command gives advice.
unused=$(sed -n '/^### Why a node is not used/,/^## /p' docs/errors.md)
while read -r reason; do
    checked=$((checked + 1))
    if ! grep -qF "$reason" <<<"$unused"; then
        echo "docs/errors.md does not say why a node is not used with the reason '$reason'"
        failed=1
    fi
done < <(sed -n '/remedies\[\] = {/,/^    };/p' lib/cli/printing.cpp | sed -nE 's/^        \{"([^"]*[^" ]) ?",$/\1/p; s/^        \{"([^"]*[^" ]) ?", ".*/\1/p')
# A page's texts in backquotes, in the first cells of the tables on stdin, up to "...". Shorter texts occur anywhere.
texts_of_rows()
{
    grep '^| ' | cut -d '|' -f 2 | grep -oE '`[^`]+`' | tr -d '`' | sed 's/\.\.\..*//' | grep -E '.{8}' || true
}
# has_a_row <a text of the source> <texts of a page, one a line>: one of these is a part of the text.
has_a_row()
{
    local row
    while IFS= read -r row; do
        [[ $1 != *"$row"* ]] || return 0
    done <<<"$2"
    return 1
}
# All sources in one line, with the parts of each literal joined.
sources=$(cat lib/core/*.cpp lib/core/*/*.cpp lib/engine/*.cpp lib/cli/*.cpp | tr '\n' ' ' | tr -s ' ' | sed 's/" "//g')
rows=$(sed -n '/^## Log lines/,/^## Run/p' docs/operate/alarms.md | texts_of_rows)
logged=0
while IFS= read -r text; do
    logged=$((logged + 1))
    if ! has_a_row "$text" "$rows"; then
        echo "docs/operate/alarms.md has no row for the line '$text'"
        failed=1
    fi
done < <(
    grep -oE '(log|tell)\( ?log_level::(warning|error), [^"]*"[^"]*"' <<<"$sources" | cut -d '"' -f 2
    grep -oE '"[^"]*", level_name\(log_level::(warning|error)\)' <<<"$sources" | cut -d '"' -f 2
)
if [[ $logged -lt 15 ]]; then
    echo "only $logged logged lines were found: are they looked for where they are?"
    failed=1
fi
# Reasons for which the client gives a connection up. These show no text of their own, because the rest of the text has the
# reason, or because a closed client logs nothing.
no_reason='^(the server refused |the server does not accept scripts now|the client was closed)$'
rows=$(texts_of_rows <<<"$unused")
given=0
while IFS= read -r text; do
    given=$((given + 1))
    if ! has_a_row "$text" "$rows"; then
        echo "docs/errors.md does not say why a node is not used with the reason '$text'"
        failed=1
    fi
done < <(cat lib/core/*.cpp lib/core/*/*.cpp | tr '\n' ' ' | tr -s ' ' | sed 's/" "//g' |
    grep -oE '(break_off|fail|refused)\([^";]{0,60}"[^"]*"' | cut -d '"' -f 2 | grep -vE "$no_reason")
if [[ $given -lt 15 ]]; then
    echo "only $given reasons were found: are they looked for where they are?"
    failed=1
fi
checked=$((checked + logged + given))
# The page on secrets has the line about a password file too.
if ! grep -qF 'redlock uses the password from before' docs/operate/rotate_secrets.md; then
    echo "docs/operate/rotate_secrets.md does not say what a command does that cannot read its password file"
    failed=1
fi
# Values of `error` in the JSON.
for word in $(sed -n '/word_for(error_code/,/^}/p; /word_for(exit_status/,/^}/p' lib/cli/printing.cpp |
    grep -oE '"[a-z_]+"' | tr -d '"' | sort -u); do
    checked=$((checked + 1))
    if ! grep -qF "\`$word\`" docs/errors.md; then
        echo "docs/errors.md does not have the error '$word'"
        failed=1
    fi
done
# In variables, as a grep that has found it reads no further, and what writes to it dies of that.
statuses=$(sed -n '/^## Exit statuses/,/^## What/p' docs/errors.md)
findings=$(sed -n '/^## What `doctor` finds/,$p' docs/errors.md)
for status in $(sed -n '/^enum exit_status/,/^};/p' lib/cli/exit_status.hpp | grep -oE '= [0-9]+' | tr -d '= '); do
    checked=$((checked + 1))
    if ! grep -qE "^\| $status " <<<"$statuses"; then
        echo "docs/errors.md has no row for the exit status $status"
        failed=1
    fi
done
# In the doctor's sources each code follows its severity.
found=$(cat lib/cli/doctor/*.cpp | tr '\n' ' ' | tr -s ' ' |
    grep -oE '(severity::[a-z]+|weight), ([^,"]+, )?"[a-z0-9]+(-[a-z0-9]+)*",' | sed -E 's/.*"(.*)",/\1/' | sort -u)
told=$(grep '^| `' <<<"$findings" | cut -d '|' -f 2 | grep -oE '[a-z0-9-]+' | sort -u)
# A search for a code finds its sentence.
if grep -nE '^\| `[^|]*,[^|]*\|' <<<"$findings"; then
    echo "docs/errors.md has a row for several of the doctor's codes"
    failed=1
fi
checked=$((checked + $(wc -w <<<"$found")))
if ! diff <(echo "$found") <(echo "$told"); then
    echo "docs/errors.md has (>) other codes of the doctor's findings than there are (<)"
    failed=1
fi
for locks in $(sed -n '/^const char\* to_string(verdict::locks/,/^}/s/.*return "\([a-z_]*\)".*/\1/p' lib/cli/doctor/findings.cpp); do
    checked=$((checked + 1))
    if ! grep -qF "\`$locks\`" <<<"$findings"; then
        echo "docs/errors.md does not have the verdict '$locks'"
        failed=1
    fi
    if ! grep -qE "^\| \`$locks\` \|" docs/operate/doctor.md; then
        echo "docs/operate/doctor.md does not have the verdict '$locks'"
        failed=1
    fi
done
for code in $found; do
    checked=$((checked + 1))
    if ! grep -qE "^\| .*\`$code\`.* \|" docs/operate/doctor.md; then
        echo "docs/operate/doctor.md does not say what to do about the finding '$code'"
        failed=1
    fi
done
for metric in $(grep -oE '\bredlock_[a-z_]+' docs/operate/alarms.md | sed -E 's/^redlock_//; s/_total$//' | sort -u); do
    checked=$((checked + 1))
    if ! grep -qE "^    std::(uint64|size)_t $metric = 0;" include/redlock/stats.hpp; then
        echo "docs/operate/alarms.md has an alarm on '$metric', and redlock::stats has no such field"
        failed=1
    fi
done
# The options that grep leaves out are arguments only.
for key in $(grep -ohE '"(-[a-z],)?--[a-z][a-z-]*' $(find lib/cli -maxdepth 1 -name '*.cpp' ! -name load_commands.cpp) | sed -E 's/.*--//' |
    grep -vxE 'config|help|version|no-wait' | sort -u); do
    checked=$((checked + 1))
    if ! grep -qE "^\| (\`\[.*\| )?\`([a-z-]+\`, \`)?$key\`" docs/config_file.md; then
        echo "docs/config_file.md has no row for the key '$key'"
        failed=1
    fi
done
if [[ $checked -lt 160 ]]; then
    echo "only $checked names were found: are they looked for where they are?"
    failed=1
fi
exit $failed
