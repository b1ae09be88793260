/*
 * Fencing tokens over three nodes, without time: keys vanish at any moment, and a node executes a
 * request at any moment after it was sent, or never. The model watches two leases. Other clients are
 * part of the environment. A request that is never answered needs no step of its own, because every
 * prefix of a play is a play and the model checks only safety. A key that vanishes needs none either:
 * a node may grant a SET whatever lease had the key before, or refuse it.
 *
 * The order of the nodes and of the two leases has no meaning, and neither has the smallest counter.
 * So the counters start in order, the first one at zero, and lease 0 begins first.
 *
 *   APART       counters start any distance apart. Values are only compared, incremented, and copied to
 *               counters below them. Two leases increment the counters below the last gap four times,
 *               on two nodes, and the counter below the first gap twice. So all gaps of more than four,
 *               or of more than two, have the same effect.
 *   SCRIPT      SET and increment are one step, and a refused SET increments nothing
 *   NON_STRICT  the raise also votes for a counter that is equal
 *   UNGUARDED   the raise does not check the owner of the key
 *   AGAIN=r     a lease without a majority of votes aims higher, up to r times, at any value
 *   MAXIMUM     no votes and no raise: the token is the largest of a majority's answers
 *   AMNESIA     one node loses its key and its counter, once
 *   OTHERS=k    other clients do k steps
 *   HELD        a lease knows its token only while it has the keys of the nodes that voted for it
 *   IN_TURN     demand: the token that is known later is larger
 *   BY_NODE     demand: tokens are in the order in which a node that voted for both gave its key
 *   BY_MAJORITY demand: tokens are in the order in which the leases first had a majority of the keys
 */
#define N 3
#define QUORUM 2
#define LEASES 2
#define FREE LEASES
#define OTHER (LEASES + 1)

#ifndef SPREAD
#define SPREAD 2 /* how far apart the counters start, at most */
#endif
#ifndef AGAIN
#define AGAIN 0
#endif
#ifndef OTHERS
#define OTHERS 0
#endif

/* The highest value of the model. No play exceeds it. */
#ifdef APART
#define HIGHEST 12
#else
#define HIGHEST 7
#endif

#ifdef UNGUARDED
#define may_raise(c, n) true
#else
#define may_raise(c, n) (key[n] == c)
#endif
#ifdef NON_STRICT
#define below(counter, v) (counter <= v)
#else
#define below(counter, v) (counter < v)
#endif

byte key[N] = FREE;       /* the lease that last got the node's key */
byte counter[N];
bool begun[LEASES];
byte target[LEASES];      /* the value for the lease's nodes; 0: none yet */
byte former[LEASES];      /* the earlier target, before it aimed higher */
byte token[LEASES];       /* 0: not known */
byte least[LEASES];       /* a token that was known before the lease began */
short voted[LEASES * N];  /* the values that the node voted for the lease, a bit each */
#if OTHERS
byte steps;
#endif
#ifdef AMNESIA
bool forgot;
#endif

/* The order in which leases got each node's key and a majority of the keys. Only for assertions. */
#ifdef BY_NODE
byte owners[N];           /* leases that got the key, a bit each */
byte earlier[LEASES * N]; /* leases that got it before this one */
#endif
#ifdef BY_MAJORITY
byte first = FREE;        /* the lease that first had a majority of the keys at one instant */
bool both;                /* the other lease had one later */
#endif

#define bit(v) (1 << (v))
#define votes_of(c, n) voted[(c) * N + (n)]
#define has_vote(c, n, v) ((votes_of(c, n) >> (v)) & 1)
#ifdef HELD
#define is_held(c, n) (key[n] == c)
#else
#define is_held(c, n) true
#endif
#define supports(c, n, v) (has_vote(c, n, v) && is_held(c, n))
#define votes(c, v) (supports(c, 0, v) + supports(c, 1, v) + supports(c, 2, v))
#define keys(c) ((key[0] == c) + (key[1] == c) + (key[2] == c))

/* Nodes i and j granted, i has v and j less: v is the second smallest answer of some majority. */
#define smaller(c, i, j, v) (votes_of(c, i) == bit(v) && votes_of(c, j) && votes_of(c, j) < bit(v))
#define either_smaller(c, i, j, v) (smaller(c, i, j, v) || smaller(c, j, i, v))
#define is_second(c, v) \
    (either_smaller(c, 0, 1, v) || either_smaller(c, 0, 2, v) || either_smaller(c, 1, 2, v))
#ifdef MAXIMUM
#define can_learn(c, v) (votes(c, v) >= QUORUM || is_second(c, v))
#else
#define can_learn(c, v) (votes(c, v) >= QUORUM)
#endif
#define can_aim(c, v) \
    ((!target[c] && is_second(c, v)) || \
     (target[c] && aims <= AGAIN && v > target[c] && v <= HIGHEST - LEASES))

inline grant(c, n) {
    key[n] = c;
#ifdef BY_NODE
    earlier[c * N + n] = owners[n];
    owners[n] = owners[n] | bit(c);
#endif
#ifdef BY_MAJORITY
    if
    :: keys(c) >= QUORUM && first == FREE -> first = c
    :: keys(c) >= QUORUM && first == 1 - c -> both = true
    :: else
    fi;
#endif
}

inline increment(n) {
    counter[n]++;
    assert(counter[n] <= HIGHEST)
}

inline vote(c, n) {
    votes_of(c, n) = votes_of(c, n) | bit(counter[n]);
}

/* A node that voted for both leases gave its key to this one after the other. */
#define after_other(c, n) \
    (has_vote(0, n, token[0]) && has_vote(1, n, token[1]) && (earlier[c * N + n] & bit(1 - c)))

inline learn(c, v) {
    assert(v != token[1 - c]);
    assert(v > least[c]);
#ifdef IN_TURN
    assert(v > token[1 - c]);
#endif
    token[c] = v;
#ifdef BY_NODE
    if
    :: token[1 - c] ->
        assert(!(after_other(0, 0) || after_other(0, 1) || after_other(0, 2)) || token[0] > token[1]);
        assert(!(after_other(1, 0) || after_other(1, 1) || after_other(1, 2)) || token[1] > token[0])
    :: else
    fi;
#endif
#ifdef BY_MAJORITY
    assert(!both || !token[1 - c] || token[first] < token[1 - first]);
#endif
}

/* Once both tokens are known, no later step matters. */
#define open (!token[0] || !token[1])

#define know(c, v) d_step { !token[c] && can_learn(c, v) -> learn(c, v) }
#define aim(c, v) d_step { !token[c] && can_aim(c, v) -> former[c] = target[c]; target[c] = v; aims++ }

proctype lease(byte c) {
    byte aims;
    d_step {
        c == 0 || begun[c - 1] ->
        begun[c] = true;
        least[c] = token[1 - c]
    };
    do
    :: know(c, 1) :: know(c, 2) :: know(c, 3) :: know(c, 4) :: know(c, 5) :: know(c, 6) :: know(c, 7)
#ifdef APART
    :: know(c, 8) :: know(c, 9) :: know(c, 10) :: know(c, 11) :: know(c, 12)
    :: aim(c, 8) :: aim(c, 9) :: aim(c, 10) :: aim(c, 11) :: aim(c, 12)
#endif
#ifndef MAXIMUM
    :: aim(c, 1) :: aim(c, 2) :: aim(c, 3) :: aim(c, 4) :: aim(c, 5) :: aim(c, 6) :: aim(c, 7)
#endif
    od
}

/* A refused raise changes nothing, as if it were never executed. */
#define is_due(c, n, v) (v && votes_of(c, n) && votes_of(c, n) < bit(v))
#define raise(c, n, v) \
    d_step { \
        is_due(c, n, v) && may_raise(c, n) && below(counter[n], v) -> \
        counter[n] = v; \
        vote(c, n) \
    }

/* The commands of one lease to one node, in the order of the connection. */
proctype connection(byte c, n) provided (open) {
    begun[c];
#ifdef SCRIPT
    d_step {
        grant(c, n);
        increment(n);
        vote(c, n)
    };
#else
    if
    :: d_step { grant(c, n) };
        d_step {
            increment(n);
            vote(c, n)
        }
    :: key[n] != FREE ->
        d_step { increment(n) };
        false /* refused: the lease sends nothing more */
    fi;
#endif
    do
    :: raise(c, n, target[c])
    :: raise(c, n, former[c])
    od
}

#if OTHERS
/* Other clients: a SET and its increment, or an increment alone. */
#define can_step (steps < OTHERS && counter[n] < HIGHEST - LEASES)

proctype others(byte n) provided (open) {
    do
    :: d_step { can_step -> steps++; key[n] = OTHER; increment(n) }
#ifndef SCRIPT
    :: d_step { can_step -> steps++; increment(n) }
#endif
    od
}
#endif

#ifdef AMNESIA
proctype amnesia(byte n) provided (open) {
    d_step {
        !forgot ->
        forgot = true;
        key[n] = FREE;
        counter[n] = 0
    }
}
#endif

init {
    byte start;
    atomic {
#ifdef APART
        select (start : 0 .. 3);
        counter[1] = start;
        select (start : 0 .. 5);
        counter[2] = counter[1] + start;
#else
        select (start : 0 .. SPREAD);
        counter[1] = start;
        select (start : 0 .. SPREAD);
        counter[2] = start;
        counter[1] <= counter[2];
#endif
        start = 0;
#if OTHERS
        run others(0); run others(1); run others(2);
#endif
#ifdef AMNESIA
        run amnesia(0); run amnesia(1); run amnesia(2);
#endif
        run lease(0); run lease(1);
        run connection(0, 0); run connection(0, 1); run connection(0, 2);
        run connection(1, 0); run connection(1, 1); run connection(1, 2)
    }
}
