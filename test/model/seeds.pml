/*
 * The counter of one node that loses it. A raise seeds it again with the clock of a client, which the
 * node compares with its own clock. The model tokens.pml needs one property of a node: each value
 * that it votes is larger than all its earlier votes. This model shows the property across losses.
 *
 * All values are relative to the node's clock (0 is its time), so plays are endless. Values below
 * LOW are too small to matter. There are no more increments than ticks.
 *
 *   GAP         the node refuses a raise beyond its time +- GAP
 *   BACK        the node's clock is set back by this much in all
 *   OUT         a node stays out of votes for this long after a loss
 *   LIFE        no counter is lost, but each lives for this long after its last raise, by the node's
 *               clock; it is incremented once in that time, as by an INCR that does not prolong its life
 *   NO_REFRESH  ... after its seed
 *   PROLONGED   ... after its last increment too, as by the scripts that count, however far it is beyond
 *               the node's time by then; there are no more increments than ticks
 *   OLD         a loss leaves a counter of an earlier time; the node recognises it by the date of its own
 *               admission: a counter below that date less GAP counts as absent
 *   NO_DATE     ... every counter counts as it is
 *   NO_BOUND    the node refuses no raise
 *   SEEDS_AWAY  a raise may be executed while the node is out of votes
 *   COUNTS      an acquire seeds an absent counter by itself, without the check that the key is its own;
 *               its clock is brought within half of GAP
 *   COUNTS_AWAY ... also while the node is out of votes, if it is up and gets the command
 */
#ifndef GAP
#define GAP 3
#endif
#ifndef BACK
#define BACK 2
#endif
#ifdef LIFE
#define OUT 0
#endif
#define WIDE (3 * GAP + BACK)
#define LOW (-(WIDE + 2))
#ifdef NO_BOUND
#define farthest WIDE
#else
#define farthest GAP
#endif

bool has_counter = false;
short counter = LOW;
#ifdef LIFE
byte left;                /* ticks until the counter expires */
#endif
short highest = LOW;      /* of all its votes */
#ifdef OLD
short since = LOW;        /* the date of the node's admission */
#if defined(NO_DATE)
#define is_new false
#else
#define is_new (since > LOW && counter < since - GAP)
#endif
#else
#define is_new false
#endif
byte out;                 /* ticks until the node votes again */
byte set_back;
bool incremented;         /* in this tick, or in this life */

inline vote() {
    if
    :: out == 0 && !is_new ->
        assert(counter > highest);
        highest = counter
    :: else
    fi
}

inline prolong() {
#ifdef LIFE
    if
#ifdef NO_REFRESH
    :: has_counter
    :: else -> left = LIFE; incremented = false
#else
    :: left = LIFE; incremented = false
#endif
    fi;
#endif
    has_counter = true
}

#ifdef SEEDS_AWAY
#define takes_raises true
#else
#define takes_raises (out == 0)
#endif
#define raise_to(v) \
    d_step { \
        takes_raises && v <= farthest && \
        ((has_counter && !is_new && v > counter) || ((!has_counter || is_new) && v >= -farthest)) -> \
        prolong(); \
        counter = v; \
        vote() \
    }

#ifdef COUNTS_AWAY
#define takes_counts true
#else
#define takes_counts (out == 0)
#endif
#define count_from(v) \
    d_step { \
        takes_counts && !has_counter && v <= GAP / 2 && v >= -(GAP / 2) -> \
        prolong(); \
        counter = v; \
        vote() \
    }

proctype raises() {
    short v; /* what a client's clock may show */
    do
    :: v < farthest -> v++
    :: v > -farthest -> v--
    :: raise_to(v)
#ifdef COUNTS
    :: count_from(v)
#endif
    od
}

/* An increment of an absent counter makes it 1, which no client takes for a vote. */
proctype increments() {
    do
    :: d_step {
        has_counter && !incremented ->
        incremented = true;
        counter++;
#ifdef PROLONGED
        left = LIFE;
#endif
        vote()
    }
    od
}

inline lose() {
#ifndef OLD
    has_counter = false;
    counter = LOW;
#endif
    out = OUT
}

#ifndef LIFE
proctype losses() {
    do
    :: d_step { has_counter -> lose() }
#ifdef OLD
    :: d_step { out && counter > LOW -> counter-- }
#endif
    od
}
#endif

inline shift(value, by) {
    if
    :: value > LOW -> value = value + by
    :: else
    fi
}

inline go_forward() {
    shift(counter, -1);
    shift(highest, -1);
#ifdef OLD
    shift(since, -1);
#endif
#ifdef LIFE
    if
    :: left > 1 -> left--
    :: left == 1 -> left = 0; lose()
    :: else
    fi
#endif
}

inline go_back() {
    set_back++;
    shift(counter, 1);
    shift(highest, 1);
#ifdef OLD
    shift(since, 1);
#endif
#ifdef LIFE
    if
    :: left -> left++
    :: else
    fi
#endif
}

inline let_back() {
    out--;
#ifdef OLD
    if
    :: out == 0 -> since = 0
    :: else
    fi
#endif
}

/* Time passes, or the clock is set. */
proctype clock() {
    do
    :: d_step {
        go_forward();
#if !defined(LIFE) || defined(PROLONGED)
        incremented = false;
#endif
        if
        :: out -> let_back()
        :: else
        fi
    }
    :: d_step { go_forward() }
    :: d_step { set_back < BACK -> go_back() }
    od
}

init {
    atomic {
#ifndef LIFE
        run losses();
#endif
        run raises(); run increments(); run clock()
    }
}
