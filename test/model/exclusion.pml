/*
 * Redlock in discrete time: at any instant at most one client believes in a lease. Nodes grant keys,
 * expire them, lose all keys and are admitted again by the restart guard. A node executes a request
 * at any moment after it was sent, or never. The model keeps only the rest of each term, so plays
 * are endless and states are few.
 *
 * Each client makes one attempt after the other, and gives up or releases at any moment. No client
 * believes in the remains of an earlier attempt, such as a SET that is executed late. They can only
 * make nodes refuse, and that has the effect of a SET that is never executed.
 *
 *   NODES, QUORUM  3 nodes (or 4), and a majority of them
 *   TTL            the ttl of every key, in ticks
 *   EXTENDS        holders extend their leases, on nodes whose grants count or would count by now
 *   EXTENDS_ANY    ... on every node that has their key
 *   GUARD=t        nodes lose all keys; their grants count again t ticks after that
 *   ADMISSION      how the guard does that, on one node: marker, pending keys, the clients' own waits
 *   NO_PENDING     ... clients do not ask whether the pending key is still there
 *   MARKER_FIRST   a node shows its admission before the SET, not after it
 *   FROM_REPLIES   validity counts from the votes, not from before the SET
 *   CLOCK_JUMP     the clock of a node is set forward, and its key expires
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef QUORUM
#define QUORUM (NODES / 2 + 1)
#endif
#ifndef TTL
#define TTL 3
#endif
#define CLIENTS 2
#define FREE CLIENTS

#define NONE 0
#define PROVED 1  /* its admission is proven, the key not yet set */
#define GRANTED 2 /* its admission is not yet proven */
#define COUNTS 3

#ifdef EXTENDS_ANY
#define EXTENDS
#define may_extend(c, n) true
#else
#define may_extend(c, n) (vote[at(c, n)] == COUNTS || is_admitted(n))
#endif

byte key[NODES] = FREE;          /* the client whose attempt owns it */
byte left[NODES];                /* ticks until the key expires */
byte vote[CLIENTS * NODES];
bool holds[CLIENTS];             /* the client believes in its lease */
byte age[CLIENTS];               /* of the attempt, which ends at TTL */
#ifdef EXTENDS
bool extending[CLIENTS];
byte age_of_extend[CLIENTS];
bool extended[CLIENTS * NODES];
#endif
#ifdef ADMISSION
bool no_marker[NODES];
bool pending[CLIENTS * NODES];   /* the client's pending key is on the node */
byte wait[CLIENTS * NODES];      /* 0: does not wait; 1: has waited */
#define is_admitted(n) (!no_marker[n])
#elif defined(GUARD)
byte away[NODES];                /* ticks until the node is admitted */
#define is_admitted(n) (away[n] == 0)
#else
#define is_admitted(n) true
#endif

#define at(c, n) ((c) * NODES + (n))
#if NODES == 4
#define count(what, c, value) \
    ((what[at(c, 0)] == value) + (what[at(c, 1)] == value) + (what[at(c, 2)] == value) + \
     (what[at(c, 3)] == value))
#else
#define count(what, c, value) \
    ((what[at(c, 0)] == value) + (what[at(c, 1)] == value) + (what[at(c, 2)] == value))
#endif

inline free_key(n) {
    key[n] = FREE;
    left[n] = 0
}

#ifdef EXTENDS
inline end_extend(c) {
    extending[c] = false;
    age_of_extend[c] = 0;
    for (i : 0 .. NODES - 1) {
        extended[at(c, i)] = false
    }
    i = 0
}
#endif

/* Ends the attempt and begins the next one, which has sent nothing yet. */
inline begin_anew(c) {
    holds[c] = false;
    age[c] = 0;
    for (i : 0 .. NODES - 1) {
        vote[at(c, i)] = NONE;
        if
        :: key[i] == c -> free_key(i)
        :: else
        fi
    }
    i = 0;
#ifdef EXTENDS
    end_extend(c)
#endif
}

inline believe(c) {
    holds[c] = true;
#ifdef FROM_REPLIES
    age[c] = 0;
#endif
    assert(!holds[1 - c])
}

#define may_begin_anew(c) \
    (holds[c] || age[c] || count(vote, c, NONE) < NODES)

proctype client(byte c) {
    byte i;
    do
    :: d_step { !holds[c] && count(vote, c, COUNTS) >= QUORUM -> believe(c) }
    :: d_step { may_begin_anew(c) -> begin_anew(c) }
#ifdef EXTENDS
    :: d_step { holds[c] && !extending[c] -> extending[c] = true }
    :: d_step {
        count(extended, c, true) >= QUORUM ->
        age[c] = age_of_extend[c];
        end_extend(c)
    }
    :: d_step { extending[c] -> end_extend(c) }
#endif
    od
}

inline grant(c, n, as) {
    key[n] = c;
    left[n] = TTL;
    vote[at(c, n)] = as
}

/* The commands of one client to one node, in the order of the connection. */
proctype connection(byte c, n) {
    do
#ifdef MARKER_FIRST
    :: d_step { vote[at(c, n)] == NONE && is_admitted(n) -> vote[at(c, n)] = PROVED }
    :: d_step { vote[at(c, n)] == PROVED && key[n] == FREE -> grant(c, n, COUNTS) }
#else
    :: d_step { vote[at(c, n)] == NONE && key[n] == FREE -> grant(c, n, GRANTED) }
    :: d_step { vote[at(c, n)] == GRANTED && is_admitted(n) -> vote[at(c, n)] = COUNTS }
#endif
#ifdef EXTENDS
    /* An extend that the client has given up may be executed late and does not count. */
    :: d_step {
        holds[c] && key[n] == c && !extended[at(c, n)] ->
        left[n] = TTL;
        extended[at(c, n)] = extending[c] && may_extend(c, n)
    }
#endif
    od
}

#ifdef ADMISSION
proctype amnesia(byte n) {
    do
    :: d_step {
        free_key(n);
        no_marker[n] = true;
        pending[at(0, n)] = false;
        pending[at(1, n)] = false
    }
    od
}

/* A client that sees a node without its marker waits, and admits it unless keys were lost since. */
proctype admission(byte c, n) {
    do
    :: d_step {
        no_marker[n] && !wait[at(c, n)] ->
        pending[at(c, n)] = true;
        wait[at(c, n)] = GUARD + 1
    }
    :: d_step {
        wait[at(c, n)] == 1 ->
        wait[at(c, n)] = 0;
        if
#ifdef NO_PENDING
        :: no_marker[n] = false
#else
        :: pending[at(c, n)] -> no_marker[n] = false
        :: else
#endif
        fi;
        pending[at(c, n)] = false
    }
    od
}
#elif defined(GUARD)
proctype amnesia(byte n) {
    do
    :: d_step { free_key(n); away[n] = GUARD }
    od
}
#endif

#ifdef CLOCK_JUMP
proctype clock_jump(byte n) {
    do
    :: d_step { key[n] != FREE -> free_key(n) }
    od
}
#endif

inline pass_on_node(n) {
    if
    :: left[n] > 1 -> left[n]--
    :: left[n] == 1 -> free_key(n)
    :: else
    fi;
#ifdef ADMISSION
    for (c : 0 .. CLIENTS - 1) {
        if
        :: wait[at(c, n)] > 1 -> wait[at(c, n)]--
        :: else
        fi
    }
#elif defined(GUARD)
    if
    :: away[n] -> away[n]--
    :: else
    fi;
#endif
}

inline pass_on_client(c) {
    age[c]++;
#ifdef EXTENDS
    if
    :: extending[c] -> age_of_extend[c]++
    :: else
    fi;
#endif
    if
    :: age[c] == TTL -> begin_anew(c)
    :: else
    fi
}

proctype clock() {
    byte i, n, c;
    do
    :: d_step {
        for (n : 0 .. NODES - 1) {
            pass_on_node(n)
        }
        n = 0;
        for (c : 0 .. CLIENTS - 1) {
            pass_on_client(c)
        }
        c = 0
    }
    od
}

init {
    byte n;
    atomic {
        for (n : 0 .. NODES - 1) {
#if defined(GUARD) && !defined(ADMISSION)
            run amnesia(n);
#endif
#ifdef CLOCK_JUMP
            run clock_jump(n);
#endif
            run connection(0, n);
            run connection(1, n)
        }
        n = 0;
#ifdef ADMISSION
        run amnesia(0);
        run admission(0, 0);
        run admission(1, 0);
#endif
        run client(0);
        run client(1);
        run clock()
    }
}
