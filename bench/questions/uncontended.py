"""Cost of a cycle without contention."""

from harness.question import MANY, Column, Panel, Question, Target, cycle

IN_FLIGHT = [1, 64, 1000, 10_000]


def cases(quick):
    levels = IN_FLIGHT[:2] if quick else IN_FLIGHT
    names = ["floor-epoll", "floor-asio", "callback", "boost-redis", "hiredis", "node-redlock"]
    # A worker of hiredis is a thread, and few users run a thousand threads. Boost.Redis runs only
    # the cases that have a target, in few runs, because few systems have it.
    least, most = {"boost-redis": 64}, {"boost-redis": 1000, "hiredis": 64, "node-redlock": 1000}
    # Pools grow with the farthest lag of a node so far. The warm-up lets them grow.
    warm_ups = {} if quick else {("callback", 1000): 0.6}
    return [cycle(name, n, counts_calls=name not in least and not (quick and name in most),
                  rounds=2 if n >= MANY or name in least else None,
                  warm_up=warm_ups.get((name, n)))
            for n in levels for name in names if least.get(name, n) <= n <= most.get(name, n)]


def of_floor(in_flight, figure, text, **bound):
    return Target("callback", {"in_flight": in_flight}, figure,
                  f"{text}, {in_flight} in flight, ratio to floor-asio", {"name": "floor-asio"},
                  **bound)


def of_peer(name, in_flight, least):
    return Target("callback", {"in_flight": in_flight}, "cycles_per_second",
                  f"throughput, {in_flight} in flight, ratio to {name}", {"name": name}, least=least)


TARGETS = [
    of_floor(64, "cycles_per_second", "throughput", least=0.9),
    of_floor(1000, "cycles_per_second", "throughput", least=0.9),
    of_floor(64, "client_cpu_us_per_cycle", "client CPU per cycle", most=1.5),
    of_floor(1000, "client_cpu_us_per_cycle", "client CPU per cycle", most=2),
    of_floor(1, "acquire_p50_us", "acquire p50", most=1.1),
    of_peer("boost-redis", 64, 1.4),
    of_peer("boost-redis", 1000, 2),
    of_peer("node-redlock", 64, 8),
    of_peer("node-redlock", 1000, 8),
    # No allocations, unless a node lags farther than ever before.
    *(Target("callback", {"in_flight": n}, "allocations_per_cycle",
             f"allocations per cycle, {n} in flight", most=0.01) for n in [64, 1000]),
]

QUESTION = Question(
    name="uncontended",
    title="An uncontended cycle",
    about="Each worker runs cycles on five nodes, with its own resource. No case uses fencing "
          "tokens, as the other programs have none. Ratios compare each case with `floor-asio`. "
          "With 10 000 in flight an answer takes longer than the usual node timeout of 50 ms, "
          "so the node timeout is 1 s there. These cases have two rounds. With 1000 in flight "
          "the library warms up for 0.6 s, so that its pools have grown. `boost-redis` is a "
          "fan-out with Boost.Redis, for systems whose Boost has it. It has two rounds, with 64 "
          "and 1000 in flight. Bytes are what the nodes count in both directions, divided by "
          "the SETs at one node. System calls are counted in runs of their own under `strace -f "
          "-c`, from the start of the program to its end. These runs are slower, so more "
          "replies arrive together.",
    cases=cases,
    parameters={"in_flight": "in flight"},
    reference={"name": "floor-asio"},
    columns=[
        Column("cycles_per_second"), Column("cycles_per_second", ratio=True),
        Column("acquire_p50_us"), Column("acquire_p50_us", ratio=True), Column("acquire_p99_us"),
        Column("acquire_p999_us"),
        Column("client_cpu_us_per_cycle"), Column("client_cpu_us_per_cycle", ratio=True),
        Column("server_cpu_us_per_cycle"), Column("allocations_per_cycle"),
        Column("bytes_per_cycle"), Column("system_calls_per_cycle"), Column("peak_mib"),
        Column("failures"),
    ],
    targets=TARGETS,
    panels=[
        Panel("cycles_per_second", "Throughput, cycles/s", x="in_flight",
              x_title="cycles in flight", log_x=True),
        Panel("acquire_p50_us", "Acquire p50, us", x="in_flight", x_title="cycles in flight",
              log_x=True, log_y=True),
        Panel("client_cpu_us_per_cycle", "Client CPU per cycle, us", x="in_flight",
              x_title="cycles in flight", log_x=True, log_y=True),
    ],
)
