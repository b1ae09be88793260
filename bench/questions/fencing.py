"""Cost of fencing tokens."""

from harness.question import Column, Panel, Question, Target, cycle


def cases(quick):
    every = []
    for in_flight in [64] if quick else [1, 64, 1000]:
        for name, called in [("callback", "without"), ("fencing", "with tokens")]:
            # With one in flight each command of a round trip has its own write.
            every.append(cycle(name, in_flight, counts_calls=in_flight == 1))
            every[-1].name = called
    return every


QUESTION = Question(
    name="fencing",
    title="Fencing tokens",
    about="Five nodes, callbacks. Ratios compare each case with `without`.",
    cases=cases,
    parameters={"in_flight": "in flight"},
    reference={"name": "without"},
    columns=[
        Column("cycles_per_second"), Column("cycles_per_second", ratio=True),
        Column("acquire_p50_us"), Column("acquire_p99_us"), Column("client_cpu_us_per_cycle"),
        Column("client_cpu_us_per_cycle", ratio=True), Column("server_cpu_us_per_cycle"),
        Column("server_cpu_us_per_cycle", ratio=True), Column("bytes_per_cycle"),
        Column("allocations_per_cycle"), Column("writes_per_cycle"),
    ],
    targets=[
        *(Target("with tokens", {"in_flight": n}, "server_cpu_us_per_cycle",
                 f"CPU of the nodes per cycle with tokens, {n} in flight, "
                 "ratio to the same without tokens",
                 {"name": "without"}, most=1.2) for n in [64, 1000]),
        Target("with tokens", {"in_flight": 1}, "writes_per_cycle",
               "writes per cycle with tokens, 1 in flight, ratio to the same without tokens",
               {"name": "without"}, most=1.02),
    ],
    panels=[
        Panel("server_cpu_us_per_cycle", "CPU of all nodes per cycle, us", x="in_flight",
              x_title="cycles in flight", log_x=True, log_y=True),
        Panel("cycles_per_second", "Throughput, cycles/s", x="in_flight",
              x_title="cycles in flight", log_x=True),
    ],
)
