"""Several threads with a client each."""

from harness.question import Column, Panel, Question, cycle


def with_threads(threads, in_flight):
    return cycle("callback", in_flight, arguments=["--threads", str(threads)],
                 parameters={"in_flight": in_flight, "threads": threads})


QUESTION = Question(
    name="threads",
    title="Several threads with a client each",
    about="Five nodes, callbacks, without fencing tokens. The threads share the cycles in "
          "flight. Each thread has its own execution context and client. Ratios compare each "
          "case with one thread. On a machine with as few processors as this, the nodes already "
          "use what more threads would take.",
    cases=lambda quick: [with_threads(t, n) for n in ([64] if quick else [64, 1000])
                         for t in [1, 2, 4]],
    parameters={"in_flight": "in flight", "threads": "threads"},
    reference={"threads": 1},
    columns=[
        Column("cycles_per_second"), Column("cycles_per_second", ratio=True),
        Column("acquire_p50_us"), Column("acquire_p99_us"), Column("client_cpu_us_per_cycle"),
        Column("client_cpu_us_per_cycle", ratio=True), Column("server_cpu_us_per_cycle"),
    ],
    panels=[
        Panel("cycles_per_second", "Throughput, cycles/s", by=("in_flight", "threads")),
        Panel("client_cpu_us_per_cycle", "Client CPU per cycle, us", by=("in_flight", "threads")),
    ],
)
