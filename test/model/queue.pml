/*
 * The fair queue: tickets at one node, for three clients that want one lock. No time passes, and steps
 * of other clients come between any two steps of a client. A SET to a majority is one step, which
 * succeeds if the lock is free. Plays are endless.
 *
 * These faults occur in any number, until they end at an instant that the search chooses:
 *   - A client dies in any state. A new client comes after the ticket and the lock of the dead one have gone.
 *   - A ticket key expires although its client lives.
 *   - The queue is deleted.
 *   - A client that is not in the queue takes the lock, or a client forgets that others wait.
 *   - A client reports that the queue does not move, although it moves.
 *   - A notification is lost.
 *
 * These events never end: acquires begin, acquires are cancelled, holders renew their lock, clients set
 * their ticket key again, and notifications come late. They may happen, and need not. But each holder
 * releases at some time, and the lock and the ticket key of a dead client expire at some time. If a
 * living client leaves its ticket key in place, that key does not expire.
 *
 * The queue script, the SET after it and the request for a notification are separate steps. A refused
 * SET and the script after it are one step. A cancelled acquire leaves the queue in the same step: if
 * it leaves late, then it was cancelled late.
 *
 * A client is late if it sleeps without a notification, or wants no lock. After the faults, a client
 * reports that the queue does not move only if the first client is late. The library looks twice
 * before it reports that, so a first client that is awake has time to try.
 *
 *   (always)       demand: no two clients hold the lock, and no acquire waits for ever after the faults
 *   SLEEPS         demand: no acquire waits for ever while the lock is free
 *   ENDLESS        the faults never end
 *   LOSSES         the loss of notifications never ends
 *   NEWCOMERS      clients that are not in the queue take the lock for ever
 *   RELIABLE       no notification is lost, and clients do not poll
 *   LONG_TTL       the ticket key of a dead client expires only after another client shortened its ttl
 *   SECOND         client 0 has up to two acquires that wait, the second one without a ticket
 *
 *   NO_TRY         a client takes the answer "first, and the lock is free" for a grant
 *   NO_POLLS       clients do not poll
 *   NO_REMOVAL     tickets without a key stay in the queue
 *   NO_REPORT      clients do not report that the queue does not move
 *   NO_SHORTENING  such a report ends the first ticket only
 *   NO_CHECK       a client does not check whether the key that it watches is there
 *   NO_REPEAT      a client watches a ticket key only until that key is set again
 *   KEY_LEFT       a client that leaves the queue does not delete its ticket key
 *   SAME_NAME      all tickets of a client have one name
 *   NO_LEAVE       a client that gets the lock stays in the queue
 *   MOVES          a ticket gets a new number each time its client asks for its place
 *   ALL_NOTIFIED   every client watches the lock
 *   NO_QUESTION    a holder that was not in the queue does not ask whether others wait
 *   NO_YIELD       a client that knows that others wait tries before it joins the queue
 *   NO_TAKEOVER    the second acquire does not take over the ticket of the first one
 */
#define CLIENTS 3

/* Values of lock besides the client that holds it */
#define FREE CLIENTS
#define OTHER (CLIENTS + 1) /* a client outside the queue */

/* Values of watched besides the client that has the ticket key */
#define LOCK CLIENTS
#define GONE (CLIENTS + 1)  /* the key of a ticket that has ended */

/* Value of rank without a number. Only the order of the numbers matters. */
#define NONE CLIENTS

/* Values of state */
#define IDLE 0
#define READY 1             /* the second acquire goes on without a ticket */
#define PLACED 2            /* knows what to watch */
#define WAITING 3
#define TRYING 4            /* was first, and the lock was free */
#define LEAVING 5           /* holds the lock, and is in the queue */
#define HOLDING 6
#define USING 7             /* holds the lock, and was not in the queue */
#define DEAD 8

/* Values of watch */
#define OFF 0
#define ON 1
#define FIRED 2             /* the notification is on its way, and the node has forgotten the watch */

byte lock = FREE;
bool queued[CLIENTS];
bool key[CLIENTS];          /* the ticket key exists */
#ifdef LONG_TTL
bool short_ttl[CLIENTS];
#endif
byte rank[CLIENTS] = NONE;
byte state[CLIENTS] = IDLE;
byte watched[CLIENTS] = LOCK;
byte watch[CLIENTS] = OFF;
bool knows[CLIENTS];        /* that others wait */
bool ended;                 /* the faults */
#ifdef SECOND
bool second;
byte followed;              /* by the demand: 1 the first acquire of client 0, 2 its second one */
#else
#define second false
#endif

#ifdef ENDLESS
#define faulty true
#define demanded true
#else
#define faulty (!ended)
#define demanded ended
#endif
#ifdef RELIABLE
#define NO_POLLS
#define loses false
#elif defined(LOSSES)
#define loses true
#else
#define loses faulty
#endif
#ifdef NEWCOMERS
#define others_come true
#else
#define others_come faulty
#endif
#ifdef NO_POLLS
#define polls false
#else
#define polls true
#endif
#ifdef NO_REMOVAL
#define removes false
#else
#define removes true
#endif
#ifdef NO_YIELD
#define yields(c) false
#else
#define yields(c) knows[c]
#endif

#define waits(c) (state[c] >= READY && state[c] <= TRYING)
#define has_ticket(c) (state[c] >= PLACED && state[c] <= TRYING)
#define holds(c) (state[c] >= LEAVING && state[c] <= USING)
#define others_wait(c) (queued[(c + 1) % CLIENTS] || queued[(c + 2) % CLIENTS])

#define is_before(a, c) (queued[a] && rank[a] < rank[c])
#define is_first(c) (!is_before(0, c) && !is_before(1, c) && !is_before(2, c))
#define is_between(b, a, c) (is_before(b, c) && rank[b] > rank[a])
#define is_directly_before(a, c) \
    (is_before(a, c) && !is_between(0, a, c) && !is_between(1, a, c) && !is_between(2, a, c))

#define is_late(c) (!waits(c) || (state[c] == WAITING && watch[c] != FIRED))
#define is_first_and_late(c) (queued[c] && is_first(c) && is_late(c))
#ifdef NO_REPORT
#define does_not_move false
#else
#define does_not_move (is_first_and_late(0) || is_first_and_late(1) || is_first_and_late(2))
#endif

#ifdef KEY_LEFT
#define has_key(t) (t == GONE || key[t])
#else
#define has_key(t) (t != GONE && key[t])
#endif
#ifdef NO_CHECK
#define is_there(k) true
#else
#define is_there(k) (k == LOCK -> lock != FREE : has_key(k))
#endif

/* A key was written, or has ended. */
inline notify(k) {
    for (i : 0 .. CLIENTS - 1) {
        if
        :: watch[i] == ON && watched[i] == k && k == LOCK -> watch[i] = FIRED
        :: watch[i] == ON && watched[i] == k && k != LOCK -> watch[i] = FIRED; watched[i] = GONE
        :: else
        fi
    }
    i = 0
}

inline stop_watch(c) {
    watch[c] = OFF;
    watched[c] = LOCK
}

inline set_key(c) {
#ifdef NO_REPEAT
    for (i : 0 .. CLIENTS - 1) {
        if
        :: key[c] && watch[i] == ON && watched[i] == c -> watch[i] = OFF
        :: else
        fi
    }
    i = 0;
#endif
    key[c] = true;
#ifdef LONG_TTL
    short_ttl[c] = false;
#endif
    notify(c)
}

inline delete_key(c) {
    if
    :: key[c] ->
        key[c] = false;
#ifdef LONG_TTL
        short_ttl[c] = false;
#endif
        notify(c)
    :: else
    fi
}

inline drop_number(c) {
    if
    :: rank[c] != NONE ->
        for (i : 0 .. CLIENTS - 1) {
            if
            :: rank[i] != NONE && rank[i] > rank[c] -> rank[i]--
            :: else
            fi
        }
        i = 0;
        rank[c] = NONE
    :: else
    fi
}

inline take_number(c) {
    drop_number(c);
    rank[c] = (rank[0] != NONE) + (rank[1] != NONE) + (rank[2] != NONE)
}

/* The next ticket of the client has another name, so it has another key. */
inline drop_name(c) {
#ifdef SAME_NAME
    skip
#else
    for (i : 0 .. CLIENTS - 1) {
        if
        :: watched[i] == c -> watched[i] = GONE
        :: else
        fi
    }
    i = 0
#endif
}

/* A living client still has its number, and comes back with it. */
inline remove(c) {
    queued[c] = false;
    if
    :: state[c] == DEAD -> drop_number(c)
    :: else
    fi
}

inline pass_over(c) {
    for (b : 0 .. CLIENTS - 1) {
        if
        :: is_before(b, c) && is_first(b) -> delete_key(b)
#if defined(LONG_TTL) && !defined(NO_SHORTENING)
        :: is_before(b, c) && !is_first(b) && key[b] -> short_ttl[b] = true; notify(b)
#endif
        :: else
        fi
    }
    b = 0
}

#ifdef LONG_TTL
#define needs_key(c) (!queued[c] || !key[c] || short_ttl[c])
#else
#define needs_key(c) (!queued[c] || !key[c])
#endif

/* The queue script. */
inline ask(c, reports) {
#ifdef MOVES
    take_number(c);
#endif
    stop_watch(c);
    if
    :: needs_key(c) -> set_key(c)
    :: else
    fi;
    queued[c] = true;
    if
    :: reports && lock == FREE -> pass_over(c)
    :: else
    fi;
    do
    :: is_directly_before(0, c) && !key[0] && removes -> remove(0)
    :: is_directly_before(1, c) && !key[1] && removes -> remove(1)
    :: is_directly_before(2, c) && !key[2] && removes -> remove(2)
    :: else -> break
    od;
#ifndef ALL_NOTIFIED
    if
    :: is_directly_before(0, c) -> watched[c] = 0
    :: is_directly_before(1, c) -> watched[c] = 1
    :: is_directly_before(2, c) -> watched[c] = 2
    :: else
    fi;
#endif
    if
    :: is_first(c) && lock == FREE ->
        printf("client %d is first, and the lock is free\n", c);
        state[c] = TRYING
    :: else ->
        if
        :: watched[c] == LOCK -> printf("client %d will watch the lock\n", c)
        :: else -> printf("client %d has a place after client %d\n", c, watched[c])
        fi;
        state[c] = PLACED
    fi
}

inline leave(c) {
    stop_watch(c);
    queued[c] = false;
#ifdef KEY_LEFT
    key[c] = false;
#else
    delete_key(c);
#endif
    drop_name(c);
    drop_number(c);
    knows[c] = others_wait(c)
}

inline end_wait(c) {
#ifdef SECOND
    if
    :: c == 0 && followed == 1 -> followed = 0
    :: else
    fi
#else
    skip
#endif
}

inline make_second_first() {
#ifdef SECOND
    second = false;
    if
    :: followed == 2 -> followed = 1
    :: else
    fi
#else
    skip
#endif
}

inline hold(c, as) {
    printf("client %d holds the lock\n", c);
    assert(lock == FREE && !holds(0) && !holds(1) && !holds(2));
    lock = c;
    state[c] = as;
    stop_watch(c);
    end_wait(c)
}

inline hold_at_once(c) {
    knows[c] = false;
    hold(c, USING)
}

inline join(c) {
    printf("client %d joins\n", c);
    knows[c] = false;
    if
    :: !queued[c] -> take_number(c)
    :: else
    fi;
    ask(c, false)
}

inline try(c) {
    if
#ifdef NO_TRY
    :: hold(c, LEAVING)
#else
    :: lock == FREE -> hold(c, LEAVING)
    :: else -> ask(c, false)
#endif
    fi
}

inline free_lock() {
    lock = FREE;
    notify(LOCK)
}

inline release(c) {
    printf("client %d releases\n", c);
    free_lock();
    if
    :: c == 0 && second ->
        make_second_first();
        state[c] = READY
    :: else -> state[c] = IDLE
    fi
}

inline cancel(c) {
    printf("client %d is cancelled\n", c);
    end_wait(c);
    if
#ifndef NO_TAKEOVER
    :: c == 0 && second -> make_second_first()
#endif
    :: else ->
        leave(c);
        state[c] = IDLE
    fi
}

inline die(c) {
    printf("client %d dies\n", c);
    state[c] = DEAD;
    knows[c] = false;
    stop_watch(c);
    if
    :: !queued[c] -> drop_number(c)
    :: else
    fi;
#ifdef SECOND
    if
    :: c == 0 -> second = false; followed = 0
    :: else
    fi
#endif
}

/* The search is fair: a process that can go on from some time on does so. */
active [CLIENTS] proctype client() {
    byte i, b;
    do
    :: d_step {
        state[_pid] == READY ->
        if
        :: !yields(_pid) && lock == FREE -> hold_at_once(_pid)
        :: else -> join(_pid)
        fi
    }
    :: d_step {
        state[_pid] == PLACED ->
        if
        :: is_there(watched[_pid]) ->
            printf("client %d watches\n", _pid);
            watch[_pid] = ON;
            state[_pid] = WAITING
        :: !is_there(watched[_pid]) && watched[_pid] == LOCK -> hold(_pid, LEAVING)
        :: else -> ask(_pid, false)
        fi
    }
    :: d_step {
        state[_pid] == WAITING && watch[_pid] == FIRED ->
        printf("client %d is notified\n", _pid);
        if
        :: watched[_pid] == LOCK -> try(_pid)
        :: else -> ask(_pid, false)
        fi
    }
    :: d_step {
        state[_pid] == WAITING && polls ->
        printf("client %d polls\n", _pid);
        if
        :: watched[_pid] == LOCK -> try(_pid)
        :: watched[_pid] != LOCK && does_not_move && lock == FREE ->
            printf("client %d reports that the queue does not move\n", _pid);
            ask(_pid, true)
        :: else -> ask(_pid, false)
        fi
    }
#ifndef NO_REPORT
    :: d_step {
        state[_pid] == WAITING && polls && watched[_pid] != LOCK && lock == FREE && faulty ->
        printf("client %d reports that the queue does not move\n", _pid);
        ask(_pid, true)
    }
#endif
    :: d_step { state[_pid] == TRYING -> try(_pid) }
    :: d_step {
        state[_pid] == LEAVING ->
        state[_pid] = HOLDING;
#ifndef NO_LEAVE
        printf("client %d leaves\n", _pid);
        leave(_pid)
#endif
    }
    :: d_step { state[_pid] == HOLDING -> release(_pid) }
    :: d_step {
        state[_pid] == USING ->
#ifndef NO_QUESTION
        knows[_pid] = others_wait(_pid);
#endif
        release(_pid)
    }
    od
}

#define can_begin(c) (state[c] == IDLE && !(c == 0 && second))

#define events_of(c) \
    :: d_step { can_begin(c) && !yields(c) && lock == FREE -> hold_at_once(c) } \
    :: d_step { can_begin(c) -> join(c) } \
    :: d_step { waits(c) -> cancel(c) } \
    :: d_step { holds(c) -> printf("client %d renews\n", c); notify(LOCK) } \
    :: d_step { \
        has_ticket(c) && queued[c] && key[c] -> \
        printf("the key of client %d is set again\n", c); \
        set_key(c) \
    } \
    :: d_step { \
        watch[c] == FIRED && loses -> \
        printf("a notification of client %d is lost\n", c); \
        watch[c] = OFF \
    } \
    :: d_step { state[c] != IDLE && state[c] != DEAD && faulty -> die(c) } \
    :: d_step { \
        state[c] == DEAD && !key[c] && !queued[c] && lock != c -> \
        printf("client %d comes back\n", c); \
        drop_name(c); \
        state[c] = IDLE \
    } \
    :: d_step { \
        state[c] == IDLE && knows[c] && faulty -> \
        printf("client %d forgets that others wait\n", c); \
        knows[c] = false \
    } \
    :: d_step { key[c] && faulty -> printf("the key of client %d expires\n", c); delete_key(c) }

#ifdef SECOND
#define can_have_second (state[0] != IDLE && state[0] != DEAD && !second)
#endif

/* What may happen, and need not. So the first step is always possible, and does nothing. */
active proctype events() {
    byte i, b;
    do
    :: lock <= OTHER
    events_of(0)
    events_of(1)
    events_of(2)
#ifdef SECOND
    :: d_step { can_begin(0) && !followed -> followed = 1; join(0) }
    :: d_step { can_have_second -> printf("client 0 has a second acquire\n"); second = true }
    :: d_step {
        can_have_second && !followed ->
        printf("client 0 has a second acquire\n");
        second = true;
        followed = 2
    }
    :: d_step {
        second && followed != 2 ->
        printf("the second acquire of client 0 is cancelled\n");
        second = false
    }
#endif
    :: d_step {
        faulty && (queued[0] || queued[1] || queued[2]) ->
        printf("the queue is deleted\n");
        remove(0);
        remove(1);
        remove(2)
    }
    :: d_step {
        lock == FREE && others_come ->
        printf("a client outside the queue holds the lock\n");
        lock = OTHER
    }
#ifndef ENDLESS
    :: d_step { !ended -> printf("the faults end\n"); ended = true }
#endif
    od
}

#ifdef LONG_TTL
#define is_mortal(c) (state[c] == DEAD && key[c] && short_ttl[c])
#else
#define is_mortal(c) (state[c] == DEAD && key[c])
#endif

#define ends_of(c) \
    :: d_step { \
        state[c] == DEAD && lock == c -> \
        printf("the lock of client %d expires\n", c); \
        free_lock() \
    } \
    :: d_step { is_mortal(c) -> printf("the key of client %d expires\n", c); delete_key(c) }

active proctype time() {
    byte i;
    do
    :: d_step { lock == OTHER -> printf("the client outside the queue releases\n"); free_lock() }
    ends_of(0)
    ends_of(1)
    ends_of(2)
    od
}

/* The clients are alike, so the demand is about client 0. */
#ifdef SECOND
#define is_waiting followed
#else
#define is_waiting waits(0)
#endif
#ifdef SLEEPS
#define is_in_vain (is_waiting && lock == FREE)
#else
#define is_in_vain is_waiting
#endif

never {
    do
    :: true
    :: demanded && is_in_vain -> break
    od;
accept:
    do
    :: is_in_vain
    od
}
