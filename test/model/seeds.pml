/*
 * The counter of one node that loses it: it is seeded anew by a raise, with the clock of a client,
 * which the node holds against its own. What tokens.pml needs of a node is that it never votes a
 * value that is not larger than all it voted before; here it is shown to be so across losses.
 *
 * All values are told as seen from the node's clock (0 is its time), so plays are endless. What lies
 * below LOW is too small to matter. No more increments than ticks.
 *
 *   GAP         a raise beyond the node's time +- GAP is refused
 *   BACK        so far the node's clock is set back, in all
 *   OUT         so long a node stays out of votes after a loss
 *   LIFE        nothing is lost, but a counter lives so long from its last raise, by the node's clock;
 *               it is incremented once in that time, as by an INCR that does not prolong its life
 *   NO_REFRESH  ... from its seed
 *   PROLONGED   ... from its last increment too, as by the scripts that count, however far it is beyond
 *               the node's time by then; no more of them than ticks
 *   OLD         a loss leaves a counter of an earlier time, which is told by the date at which the node
 *               was let back: below that less GAP it is taken for absent
 *   NO_DATE     ... it is taken for what it is
 *   NO_BOUND    no raise is refused
 *   SEEDS_AWAY  a raise may be executed while the node is out of votes
 *   COUNTS      an acquire seeds a counter that is absent by itself, without asking whether the key is
 *               ours, its clock brought within half of GAP
 *   COUNTS_AWAY ... also while the node is out of votes, as one that is up and asked is
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
byte left;                /* of the counter's life */
#endif
short highest = LOW;      /* of all it voted */
#ifdef OLD
short since = LOW;        /* the date at which the node was let back */
#if defined(NO_DATE)
#define is_new false
#else
#define is_new (since > LOW && counter < since - GAP)
#endif
#else
#define is_new false
#endif
byte out;                 /* until it votes again */
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

/* An increment of no counter makes it 1, which nobody takes for a vote. */
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
