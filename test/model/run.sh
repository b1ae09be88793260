#!/bin/bash
# shellcheck disable=SC2317 # the action is called by its name
# Lets spin search the models of this folder, each variant to its end, and compares the result with the expected one:
# the variant holds, or spin sees it fail. Exit status: 0, 1 if a result differs, 77 without spin.
set -euo pipefail
models=$(cd "$(dirname "$0")" && pwd)

usage() {
    cat <<'END_OF_USAGE'
usage: test/model/run.sh [VARIANT...]        searches the variants named, or all
       test/model/run.sh --trace VARIANT     prints how a variant fails, step by step: the shortest way, or a short one
       test/model/run.sh --list              the variants, and what is to be found of each
       test/model/run.sh --sum FOLDER        what all variants took that were searched with SPENT=FOLDER, and whether
                                             that is six minutes on two processors at most

Work files go to a folder below TMPDIR, and away with it. Seconds are those of a processor.
END_OF_USAGE
}

# Name, model, expected, options of spin.
variants() {
    cat <<'END_OF_TABLE'
tokens_plain                    tokens     holds  -DAPART
tokens_plain_others             tokens     holds  -DOTHERS=1 -DSPREAD=1
tokens_plain_again              tokens     holds  -DAGAIN=1 -DSPREAD=1
tokens_plain_unguarded          tokens     holds  -DUNGUARDED -DAPART
tokens_plain_held               tokens     holds  -DHELD -DIN_TURN -DAPART
tokens_plain_in_turn            tokens     fails  -DIN_TURN
tokens_plain_by_node            tokens     fails  -DBY_NODE
tokens_plain_by_majority        tokens     fails  -DBY_MAJORITY
tokens_plain_non_strict         tokens     fails  -DNON_STRICT
tokens_plain_amnesia            tokens     fails  -DAMNESIA
tokens_maximum                  tokens     fails  -DMAXIMUM
tokens_script                   tokens     holds  -DSCRIPT -DNON_STRICT -DBY_NODE -DAPART
tokens_script_others            tokens     holds  -DSCRIPT -DNON_STRICT -DBY_NODE -DSPREAD=1 -DOTHERS=1 -DAGAIN=1
tokens_script_held              tokens     holds  -DSCRIPT -DNON_STRICT -DHELD -DIN_TURN -DAPART
tokens_script_in_turn           tokens     fails  -DSCRIPT -DNON_STRICT -DIN_TURN
tokens_script_by_majority       tokens     fails  -DSCRIPT -DNON_STRICT -DBY_MAJORITY
tokens_script_unguarded         tokens     fails  -DSCRIPT -DNON_STRICT -DUNGUARDED
tokens_script_strict_unguarded  tokens     fails  -DSCRIPT -DUNGUARDED -DBY_NODE
tokens_script_amnesia           tokens     fails  -DSCRIPT -DNON_STRICT -DAMNESIA
exclusion                       exclusion  holds  -DTTL=10
exclusion_extends               exclusion  holds  -DTTL=7 -DEXTENDS
exclusion_four_nodes            exclusion  holds  -DNODES=4 -DTTL=6
exclusion_guard                 exclusion  holds  -DTTL=4 -DGUARD=4
exclusion_guard_extends         exclusion  holds  -DGUARD=3 -DEXTENDS
exclusion_admission             exclusion  holds  -DTTL=4 -DGUARD=4 -DADMISSION
exclusion_admission_extends     exclusion  holds  -DGUARD=3 -DADMISSION -DEXTENDS
exclusion_admission_no_pending  exclusion  fails  -DTTL=4 -DGUARD=4 -DADMISSION -DNO_PENDING
exclusion_admission_too_short   exclusion  fails  -DTTL=4 -DGUARD=3 -DADMISSION
exclusion_guard_too_short       exclusion  fails  -DTTL=4 -DGUARD=3
exclusion_no_guard              exclusion  fails  -DGUARD=0
exclusion_guard_marker_first    exclusion  fails  -DGUARD=3 -DMARKER_FIRST
exclusion_guard_extends_any     exclusion  fails  -DTTL=2 -DGUARD=2 -DEXTENDS_ANY
exclusion_from_replies          exclusion  fails  -DFROM_REPLIES
exclusion_half                  exclusion  fails  -DNODES=4 -DQUORUM=2
exclusion_clock_jump            exclusion  fails  -DCLOCK_JUMP
seeds                           seeds      holds  -DGAP=20 -DBACK=12 -DOUT=54
seeds_out_too_short             seeds      fails  -DGAP=20 -DBACK=12 -DOUT=53
seeds_no_bound                  seeds      fails  -DGAP=3 -DBACK=2 -DOUT=10 -DNO_BOUND
seeds_away                      seeds      fails  -DGAP=3 -DBACK=2 -DOUT=10 -DSEEDS_AWAY
seeds_counted                   seeds      holds  -DGAP=20 -DBACK=12 -DOUT=54 -DCOUNTS
seeds_counted_away              seeds      fails  -DGAP=3 -DBACK=2 -DOUT=10 -DCOUNTS -DCOUNTS_AWAY
seeds_old                       seeds      holds  -DGAP=4 -DBACK=2 -DOUT=12 -DOLD
seeds_old_out_too_short         seeds      fails  -DGAP=4 -DBACK=2 -DOUT=11 -DOLD
seeds_old_away                  seeds      holds  -DGAP=4 -DBACK=2 -DOUT=12 -DOLD -DSEEDS_AWAY
seeds_old_counted_away          seeds      holds  -DGAP=4 -DBACK=2 -DOUT=12 -DOLD -DCOUNTS -DCOUNTS_AWAY
seeds_old_no_date               seeds      fails  -DGAP=4 -DBACK=2 -DOUT=12 -DOLD -DNO_DATE
seeds_life                      seeds      holds  -DGAP=20 -DBACK=12 -DLIFE=54
seeds_life_too_short            seeds      fails  -DGAP=20 -DBACK=12 -DLIFE=53
seeds_life_not_prolonged        seeds      fails  -DGAP=3 -DBACK=2 -DLIFE=20 -DNO_REFRESH
seeds_life_counted              seeds      holds  -DGAP=20 -DBACK=12 -DLIFE=54 -DPROLONGED
seeds_life_counted_too_short    seeds      fails  -DGAP=20 -DBACK=12 -DLIFE=53 -DPROLONGED
queue                           queue      holds
queue_notified                  queue      holds  -DRELIABLE
queue_second                    queue      holds  -DRELIABLE -DSECOND
queue_long_ttl                  queue      holds  -DLONG_TTL
queue_endless                   queue      holds  -DENDLESS -DSLEEPS -DLONG_TTL
queue_endless_no_polls          queue      fails  -DENDLESS -DSLEEPS -DLONG_TTL -DNO_POLLS
queue_losses                    queue      fails  -DLOSSES
queue_losses_no_report          queue      holds  -DLOSSES -DNO_REPORT
queue_newcomers                 queue      fails  -DNEWCOMERS
queue_no_try                    queue      fails  -DNO_TRY
queue_no_polls                  queue      fails  -DNO_POLLS
queue_no_removal                queue      fails  -DNO_REMOVAL
queue_no_report                 queue      fails  -DLONG_TTL -DNO_REPORT
queue_no_shortening             queue      fails  -DLONG_TTL -DNO_SHORTENING
queue_no_check                  queue      fails  -DRELIABLE -DNO_CHECK
queue_no_repeat                 queue      fails  -DRELIABLE -DNO_REPEAT
queue_key_left                  queue      fails  -DRELIABLE -DKEY_LEFT
queue_same_name                 queue      fails  -DRELIABLE -DSAME_NAME
queue_no_leave                  queue      fails  -DNO_LEAVE
queue_moves                     queue      fails  -DMOVES
queue_all_notified              queue      fails  -DALL_NOTIFIED
queue_no_question               queue      fails  -DNO_QUESTION
queue_no_yield                  queue      fails  -DNO_YIELD
queue_no_takeover               queue      fails  -DSECOND -DNO_TAKEOVER
END_OF_TABLE
}

# Whether a model demands that something happens at some time. Then a search looks for a cycle of steps that goes on
# without it, and in which no process is ever left out that can go on.
demands_progress() { grep -q '^never' "$models/$1.pml"; }

# Makes the verifier of a model: build <model> <options of the compiler, in one word> [option of spin...]
build() {
    local model=$1 options=$2
    shift 2
    spin -a "$@" "$models/$model.pml" >spin.log 2>&1 || {
        cat spin.log >&2
        return 1
    }
    demands_progress "$model" || options+=' -DSAFETY'
    # The code that spin writes causes warnings.
    # shellcheck disable=SC2086 # several words
    cc -w -DMEMLIM=2000 $options -o pan pan.c
}

# Runs the verifier: verify <model> [option of it...]
verify() {
    local model=$1
    shift
    ! demands_progress "$model" || set -- -a -f "$@"
    ./pan -E "$@" >pan.log 2>&1 || true
}

# "holds" or "fails" for a search that reached its end or a fault, otherwise "unfinished". A counter beyond the model's
# values is neither a fault nor an end.
verdict() {
    if grep -q 'assertion violated (counter\[' pan.log; then
        echo unfinished
    elif grep -qE 'assertion violated|acceptance cycle \(' pan.log; then
        echo fails
    elif grep -q 'errors: 0$' pan.log && ! grep -qiE 'too small|not completed|out of memory|memlim' pan.log; then
        echo holds
    else
        echo unfinished
    fi
}

# Sets `spent` to the processor time of all programs so far, in seconds.
note_spent() {
    times >times.log
    spent=$(awk 'NR == 2 { split($1 "m" $2, t, /[ms]+/); printf "%.1f", 60 * t[1] + t[2] + 60 * t[3] + t[4] }' times.log)
}

# sum <folder>: adds up the files there, one for each variant.
sum() {
    # A full run may take three hours, and the models must stay a small part of it. Processor time hardly grows beside
    # other work, and all variants need two thirds of this.
    local limit=720 name
    command -v spin >/dev/null || {
        echo "skipped: there is no spin here"
        return 77
    }
    for name in "${names[@]}"; do
        [[ -s $1/$name ]] || {
            echo "skipped: $name was not searched"
            return 77
        }
    done
    (cd "$1" && cat "${names[@]}") |
        awk -v limit="$limit" '{ s += $1 } END { printf "%d variants, %.0f s of %d s\n", NR, s, limit; exit s > limit }'
}

# search <name> <model> <expected> [option of spin...]: prints a line of the table.
search() {
    local name=$1 model=$2 expected=$3 optimiser=-O2 found states before spent
    shift 3
    # The time of an earlier search must not remain if this search does not end.
    [[ -z ${SPENT-} ]] || rm -f "$SPENT/$name"
    note_spent
    before=$spent
    # Optimising such a search takes longer than finding its fault.
    [[ $expected == holds ]] || optimiser=-O0
    build "$model" "$optimiser" "$@" || return 1
    verify "$model" -m3000000 -w22
    found=$(verdict)
    states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.log)
    note_spent
    spent=$(awk -v a="$before" -v b="$spent" 'BEGIN { printf "%.1f", b - a }')
    printf '%-31s %-8s %-10s %9s %5s\n' "$name" "$expected" "$found" "${states:--}" "$spent"
    [[ -z ${SPENT-} ]] || echo "$spent" >"$SPENT/$name"
    [[ $found == "$expected" ]] || {
        cat pan.log >&2
        return 1
    }
}

# Some trails of a cycle lack the cycle itself, which begins at -1:-1:-1.
has_whole_trail() {
    [[ -e $1.pml.trail ]] || return 1
    grep -q '^-1:' "$1.pml.trail" || grep -q 'assertion violated' pan.log
}

# Breadth first finds the shortest way, but no cycle. So for a cycle, the trace is a short one of several random searches
# that end at a small depth, or the first one of a search without that limit.
trace() {
    local model=$2 depth seed
    shift 3
    if demands_progress "$model"; then
        build "$model" '-O2 -DT_RAND -DP_RAND' "$@" || return 1
        for depth in 60 100 150 200 300 600 3000000; do
            for seed in 1 2; do
                has_whole_trail "$model" || verify "$model" "-m$depth" "-RS$seed" -w22
            done
        done
    else
        build "$model" '-O2 -DBFS' "$@" || return 1
        verify "$model" -w22
    fi
    [[ -e $model.pml.trail ]] || {
        echo "no way to fail was found" >&2
        return 1
    }
    # Each step of a model with a cycle prints what happens.
    if demands_progress "$model"; then
        spin -k "$model.pml.trail" -T "$@" "$models/$model.pml" | sed '/^spin: trail ends/,$d; /^Never claim/d'
    else
        spin -k "$model.pml.trail" -p -g "$@" "$models/$model.pml"
    fi
}

row_of() {
    local row
    row=$(variants | grep "^$1 ") || {
        echo "test/model/run.sh: $1: no such variant" >&2
        exit 2
    }
    echo "$row"
}

action=search
case ${1-} in
    -h | --help)
        usage
        exit 0
        ;;
    --list)
        variants | awk '{ print $1, $3 }'
        exit 0
        ;;
    --sum)
        mapfile -t names < <(variants | awk '{ print $1 }')
        status=0
        sum "$2" || status=$?
        exit "$status"
        ;;
    --trace)
        action=trace
        shift
        (($# == 1)) || {
            usage >&2
            exit 2
        }
        ;;
esac
if (($# > 0)); then names=("$@"); else mapfile -t names < <(variants | awk '{ print $1 }'); fi
rows=()
for name in "${names[@]}"; do
    row=$(row_of "$name")
    rows+=("$row")
done

command -v spin >/dev/null || {
    echo "skipped: there is no spin here"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

failures=0
[[ $action == trace ]] || printf '%-31s %-8s %-10s %9s %5s\n' variant expected found states s
for row in "${rows[@]}"; do
    rm -f ./*
    # shellcheck disable=SC2086 # several words
    $action $row || failures=$((failures + 1))
done
exit $((failures > 0))
