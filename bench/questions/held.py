"""Cost of a cycle while the client holds very many locks. The locks must not raise it."""

from harness.question import Column, Panel, Question, Target, cycle

# Rounds of the cases in between.
FEW = 2


def beside(held):
    return cycle("callback", 64, arguments=["--held", str(held)], parameters={"held": held})


def cases(quick):
    every = [beside(held) for held in ([0, 1000] if quick else [0, 1000, 10_000, 100_000])]
    for case in every:
        case.overhead += case.parameters["held"] / 30_000
        # The SETs of held locks belong to no cycle.
        case.is_cycle = False
    # The answers differ by little, if at all, and the machine varies more. So the two cases that
    # are compared run often, mostly one right after the other.
    for case in every[1:-1]:
        case.rounds = FEW
    return every


QUESTION = Question(
    name="held",
    title="Cycles beside held locks",
    about="Five nodes, 64 in flight, callbacks. While the cycles run, the client also holds "
          "`held` other locks. Ratios compare each case with `held` = 0. The cases 0 and 100 000 "
          "have five rounds, the others two. So compare rows by their ratios only.",
    cases=cases,
    parameters={"held": "held"},
    reference={"held": 0},
    columns=[
        Column("cycles_per_second"), Column("cycles_per_second", ratio=True),
        Column("acquire_p50_us"), Column("acquire_p99_us"), Column("client_cpu_us_per_cycle"),
        Column("client_cpu_us_per_cycle", ratio=True), Column("server_cpu_us_per_cycle"),
        Column("peak_mib"),
    ],
    rounds=5,
    targets=[
        Target("callback", {"held": 100_000}, "client_cpu_us_per_cycle",
               "client CPU per cycle with 100 000 held locks, ratio to none held", {"held": 0},
               most=1.1),
    ],
    panels=[
        Panel("client_cpu_us_per_cycle", "Client CPU per cycle, us", by=("held",)),
        Panel("cycles_per_second", "Throughput, cycles/s", by=("held",)),
    ],
)
