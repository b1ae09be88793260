"""Cost of each way to call the library."""

from harness.question import Column, Panel, Question, Target, cycle

QUESTION = Question(
    name="styles",
    title="Callbacks, co_await, a strand",
    about="Five nodes, without fencing tokens. `callback` uses a handler, `await` uses "
          "`use_awaitable`, and `strand` uses a handler with `thread_safe`. Ratios compare each "
          "case with `callback`.",
    cases=lambda quick: [cycle(name, n) for n in ([64] if quick else [1, 64, 1000])
                         for name in ["callback", "await", "strand"]],
    parameters={"in_flight": "in flight"},
    reference={"name": "callback"},
    columns=[
        Column("cycles_per_second"), Column("cycles_per_second", ratio=True),
        Column("acquire_p50_us"), Column("acquire_p99_us"), Column("client_cpu_us_per_cycle"),
        Column("client_cpu_us_per_cycle", ratio=True), Column("allocations_per_cycle"),
    ],
    targets=[
        Target("await", {"in_flight": n}, "allocations_per_cycle",
               f"allocations per cycle with co_await, {n} in flight", most=1) for n in [64, 1000]
    ],
    panels=[
        Panel("client_cpu_us_per_cycle", "Client CPU per cycle, us", x="in_flight",
              x_title="cycles in flight", log_x=True, log_y=True),
        Panel("cycles_per_second", "Throughput, cycles/s", x="in_flight",
              x_title="cycles in flight", log_x=True),
    ],
)
