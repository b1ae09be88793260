# shellcheck shell=bash
# Sourced from the root of the source tree by what keeps a document and the tests together.

# Names in a folder, one a line: cases, faults of the simulation and of the chaos program, fuzz
# targets.
names_in() {
    local list=
    case $1 in
        sim)
            # The quoted entries of the arrays of names of faults, which begin in one line and end
            # with "};".
            cat test/sim/plan.cpp test/sim/runner.cpp |
                sed -nE '/constexpr std::array<.*(fault|beyond)_names\{/,/};/p' | grep -oE '"[^"]+"'
            ;;
        chaos) grep -ohE '"[^"]+"' test/chaos/catalogue.cpp ;;
        fuzzing)
            list=$(sed -nE 's/^set\(redlock_fuzz_targets (.*)\)/\1/p' test/fuzzing/CMakeLists.txt)
            # shellcheck disable=SC2086 # several words
            printf '"%s"\n' $list
            ;;
        *)
            find "test/$1" -name '*.cpp' -exec cat {} + | tr '\n' ' ' |
                grep -oE 'TEST_CASE\( *"[^"]+" *[,)]' | grep -oE '"[^"]+"'
            ;;
    esac
}

declare -A known
names=0
# check_names <page>: what it names as `folder`: "name" is the whole name of a case, a fault or a
# fuzz target there. A name may go over the end of a line. Says with `complain` what is not, and
# counts in `names`.
check_names() {
    local folder name
    while IFS=' ' read -r folder name; do
        names=$((names + 1))
        folder=${folder//[\`:]/}
        [[ -v known[$folder] ]] || known[$folder]=$(names_in "$folder")
        grep -qxF "$name" <<<"${known[$folder]}" || complain "$1: test/$folder has no $name"
    done < <(tr '\n' ' ' <"$1" | tr -s ' ' | grep -oE '`[a-z_/]+`: "[^"]+"')
}
