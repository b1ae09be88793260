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
 *               it is incremented once in that time, since an increment does not prolong its life
 *   NO_REFRESH  ... from its seed
 *   NO_BOUND    no raise is refused
 *   SEEDS_AWAY  a raise may be executed while the node is out of votes
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
byte out;                 /* until it votes again */
byte set_back;
bool incremented;         /* in this tick, or in this life */

inline vote() {
    if
    :: out == 0 ->
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
        ((has_counter && v > counter) || (!has_counter && v >= -farthest)) -> \
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
    od
}

/* An increment of no counter makes it 1, which nobody takes for a vote. */
proctype increments() {
    do
    :: d_step {
        has_counter && !incremented ->
        incremented = true;
        counter++;
        vote()
    }
    od
}

inline lose() {
    has_counter = false;
    counter = LOW;
    out = OUT
}

#ifndef LIFE
proctype losses() {
    do
    :: d_step { has_counter -> lose() }
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
#ifdef LIFE
    if
    :: left -> left++
    :: else
    fi
#endif
}

/* Time passes, or the clock is set. */
proctype clock() {
    do
    :: d_step {
        go_forward();
#ifndef LIFE
        incremented = false;
#endif
        if
        :: out -> out--
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
