"""What fencing tokens cost."""

from harness.question import Column, Panel, Question, cycle


def cases(quick):
    every = []
    for in_flight in [64] if quick else [1, 64, 1000]:
        for name, called in [("callback", "without"), ("fencing", "with tokens")]:
            every.append(cycle(name, in_flight))
            every[-1].name = called
    return every


QUESTION = Question(
    name="fencing",
    title="Fencing tokens",
    about="Five masters, callbacks; a ratio is to what goes without.",
    cases=cases,
    parameters={"in_flight": "in flight"},
    reference={"name": "without"},
    columns=[
        Column("cycles_per_second"), Column("cycles_per_second", ratio=True),
        Column("acquire_p50_us"), Column("acquire_p99_us"), Column("client_cpu_us_per_cycle"),
        Column("client_cpu_us_per_cycle", ratio=True), Column("server_cpu_us_per_cycle"),
        Column("server_cpu_us_per_cycle", ratio=True), Column("bytes_per_cycle"),
        Column("allocations_per_cycle"),
    ],
    panels=[
        Panel("server_cpu_us_per_cycle", "CPU of all masters a cycle, us", x="in_flight",
              x_title="cycles in flight", log_x=True, log_y=True),
        Panel("cycles_per_second", "Throughput, cycles/s", x="in_flight",
              x_title="cycles in flight", log_x=True),
    ],
)
