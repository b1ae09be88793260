"""What a cycle costs that nobody is in the way of."""

from harness.question import Column, Panel, Question, cycle

IN_FLIGHT = [1, 64, 1000, 10_000]


def cases(quick):
    levels = IN_FLIGHT[:2] if quick else IN_FLIGHT
    names = ["floor-epoll", "floor-asio", "callback", "hiredis", "node-redlock"]
    # A worker of hiredis is a thread, of which nobody has a thousand.
    most = {"hiredis": 64, "node-redlock": 1000}
    return [cycle(name, n, counts_calls=not (quick and name in most))
            for n in levels for name in names if n <= most.get(name, n)]


QUESTION = Question(
    name="uncontended",
    title="An uncontended cycle",
    about="Cycles on five masters, each worker with a resource of its own, without fencing tokens, "
          "as the others have none; ratios are to `floor-asio`. "
          "With 10 000 in flight an answer takes longer than the node timeout of 50 ms, which is "
          "1 s there. Bytes are those that the masters "
          "count, both ways, a SET at a master being a cycle. System calls are those of a run "
          "under `strace -f -c`, from start to end: slower than others, so that more replies come "
          "together.",
    cases=cases,
    parameters={"in_flight": "in flight"},
    reference={"name": "floor-asio"},
    columns=[
        Column("cycles_per_second"), Column("cycles_per_second", ratio=True),
        Column("acquire_p50_us"), Column("acquire_p99_us"), Column("acquire_p999_us"),
        Column("client_cpu_us_per_cycle"), Column("client_cpu_us_per_cycle", ratio=True),
        Column("server_cpu_us_per_cycle"), Column("allocations_per_cycle"),
        Column("bytes_per_cycle"), Column("system_calls_per_cycle"), Column("peak_mib"),
        Column("failures"),
    ],
    panels=[
        Panel("cycles_per_second", "Throughput, cycles/s", x="in_flight",
              x_title="cycles in flight", log_x=True),
        Panel("acquire_p50_us", "Acquire p50, us", x="in_flight", x_title="cycles in flight",
              log_x=True, log_y=True),
        Panel("client_cpu_us_per_cycle", "Client CPU a cycle, us", x="in_flight",
              x_title="cycles in flight", log_x=True, log_y=True),
    ],
)
