"""What a cycle costs that nobody is in the way of."""

from harness.question import MANY, Column, Panel, Question, Target, cycle

IN_FLIGHT = [1, 64, 1000, 10_000]


def cases(quick):
    levels = IN_FLIGHT[:2] if quick else IN_FLIGHT
    names = ["floor-epoll", "floor-asio", "callback", "boost-redis", "hiredis", "node-redlock"]
    # A worker of hiredis is a thread, of which nobody has a thousand. Of Boost.Redis no more than
    # what is aimed at, in few runs, as few systems have it.
    least, most = {"boost-redis": 64}, {"boost-redis": 1000, "hiredis": 64, "node-redlock": 1000}
    # Pools grow to the farthest that a master ever lags behind, and are to have done so.
    warm_ups = {} if quick else {("callback", 1000): 0.6}
    return [cycle(name, n, counts_calls=name not in least and not (quick and name in most),
                  rounds=2 if n >= MANY or name in least else None,
                  warm_up=warm_ups.get((name, n)))
            for n in levels for name in names if least.get(name, n) <= n <= most.get(name, n)]


def of_floor(in_flight, figure, text, **bound):
    return Target("callback", {"in_flight": in_flight}, figure,
                  f"{text} of floor-asio's, {in_flight} in flight", {"name": "floor-asio"}, **bound)


def of_peer(name, in_flight, least):
    return Target("callback", {"in_flight": in_flight}, "cycles_per_second",
                  f"throughput, of {name}'s, {in_flight} in flight", {"name": name}, least=least)


TARGETS = [
    of_floor(64, "cycles_per_second", "throughput,", least=0.9),
    of_floor(1000, "cycles_per_second", "throughput,", least=0.9),
    of_floor(64, "client_cpu_us_per_cycle", "client CPU a cycle,", most=1.5),
    of_floor(1000, "client_cpu_us_per_cycle", "client CPU a cycle,", most=2),
    of_floor(1, "acquire_p50_us", "acquire p50,", most=1.1),
    of_peer("boost-redis", 64, 1.4),
    of_peer("boost-redis", 1000, 2),
    of_peer("node-redlock", 64, 8),
    of_peer("node-redlock", 1000, 8),
    # None, but for a master that lags behind farther than ever.
    *(Target("callback", {"in_flight": n}, "allocations_per_cycle",
             f"allocations a cycle, {n} in flight", most=0.01) for n in [64, 1000]),
]

QUESTION = Question(
    name="uncontended",
    title="An uncontended cycle",
    about="Cycles on five masters, each worker with a resource of its own, without fencing tokens, "
          "as the others have none; ratios are to `floor-asio`. "
          "With 10 000 in flight an answer takes longer than the node timeout of 50 ms, which is "
          "1 s there, and it is measured twice; the library warms up for 0.6 s with 1000, so that "
          "its pools have grown. Twice is `boost-redis` measured, too: a fan-out with Boost.Redis, "
          "with 64 and 1000 in flight, where the system's Boost has it. Bytes are those that the masters "
          "count, both ways, a SET at a master being a cycle. System calls are those of a run "
          "under `strace -f -c`, from start to end: slower than others, so that more replies come "
          "together.",
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
        Panel("client_cpu_us_per_cycle", "Client CPU a cycle, us", x="in_flight",
              x_title="cycles in flight", log_x=True, log_y=True),
    ],
)
