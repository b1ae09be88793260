"""Memory of a held lock, of a waiter, and of a program with many cycles in flight."""

from harness.question import Case, Column, Panel, Question, Target


# Rounds of all cases except the one that varies most.
FEW = 2


def read(name, many, key):
    return lambda told: [(name, {"of": many}, {"bytes_each": told[key]})]


def cases(quick):
    many = 2000 if quick else 100_000

    def held(name, arguments):
        return Case(name, "redlock-keep",
                    ["--json", "--locks", str(many), "--ttl", "60000", *arguments],
                    seconds=0.2, warm_up=0.1, overhead=0.5 + many / 25_000, rounds=FEW,
                    read=read(name, many, "bytes_per_lock"))

    # If a node is late because it gets no processor, the records of the other nodes wait for it.
    # Their memory then describes the machine.
    def in_flight(name, program, arguments, rounds=None):
        of = 64 if quick else 1000
        return Case(name, program, [*arguments, "--workers", str(of)], seconds=0.5, warm_up=0.2,
                    rounds=rounds,
                    read=lambda told: [(name, {"of": of}, {"peak_mib": told["peak_rss_kib"] / 1024})])

    return [
        in_flight("in flight, floor-asio", "redlock-floor-asio", ["--json"], FEW),
        in_flight("in flight", "redlock-bench", ["run", "--output", "json", "--no-fencing"]),
        held("a held lock", ["--no-keep-alive"]),
        held("a lock that is kept alive", []),
        Case("a waiter", "redlock-wait", ["--json", "--local", "3", "--waiters", str(many)],
             nodes=None, seconds=0.5, warm_up=0.1, overhead=0.5 + many / 10_000, rounds=FEW,
             read=read("a waiter", many, "bytes_per_waiter")),
    ]


QUESTION = Question(
    name="memory",
    title="Memory of a held lock, a kept-alive lock, a waiter, and of cycles in flight",
    about="Cycles in flight are on five nodes. Their figure is the most memory that the program "
          "had at a time, with its code, its own records and the C library. OpenSSL and the C++ "
          "library are linked in, at a fixed address; "
          "[another page](../design/evidence/performance.md#memory-with-1000-in-flight) has the "
          "figures with shared libraries. The figure of locks and waiters is the growth of the resident "
          "memory, divided by their number. This includes the lock object and its short name. "
          "The locks are on five nodes. The waiters are on three nodes, and wait in one queue. "
          "The cycles of the library have five rounds, all other cases two.",
    cases=cases,
    parameters={"of": "number"},
    reference={},
    rounds=5,
    columns=[Column("bytes_each"), Column("peak_mib")],
    targets=[
        # 10 MB.
        Target("in flight", {"of": 1000}, "peak_mib", "peak MiB, 1000 in flight", most=9.54),
        Target("a held lock", {"of": 100_000}, "bytes_each",
               "bytes of a held lock with a key of ten characters", most=410),
    ],
    panels=[Panel("bytes_each", "Memory of each, bytes")],
)
