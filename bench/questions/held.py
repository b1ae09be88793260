"""Whether a cycle costs more where a client has very many locks: it must not."""

from harness.question import Column, Panel, Question, Target, cycle

# Of those in between.
FEW = 2


def beside(held):
    return cycle("callback", 64, arguments=["--held", str(held)], parameters={"held": held})


def cases(quick):
    every = [beside(held) for held in ([0, 1000] if quick else [0, 1000, 10_000, 100_000])]
    for case in every:
        case.overhead += case.parameters["held"] / 30_000
        # The SETs of those that are held are not of cycles.
        case.is_cycle = False
    # The answers differ by little, if at all, and the machine by more: those two that are compared
    # are measured often, and mostly one right behind the other.
    for case in every[1:-1]:
        case.rounds = FEW
    return every


QUESTION = Question(
    name="held",
    title="Beside locks that are held",
    about="Five masters, 64 in flight, callbacks, while the client has so many further locks; a "
          "ratio is to none. Five rounds, but two of those in between.",
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
               "client CPU a cycle beside 100 000 locks, of that beside none", {"held": 0},
               most=1.1),
    ],
    panels=[
        Panel("client_cpu_us_per_cycle", "Client CPU a cycle, us", by=("held",)),
        Panel("cycles_per_second", "Throughput, cycles/s", by=("held",)),
    ],
)
