"""Cost of TLS, and gain from unix sockets."""

from harness.question import Column, Panel, Question, cycle


def over(transport, in_flight):
    case = cycle("callback", in_flight, transport=transport)
    case.name = transport
    return case


QUESTION = Question(
    name="transports",
    title="TLS, TCP, unix sockets",
    about="The same five nodes by TCP, TLS and unix sockets, with callbacks and without fencing "
          "tokens. Ratios compare each case with TCP.",
    cases=lambda quick: [over(transport, n) for n in ([64] if quick else [1, 64, 1000])
                         for transport in ["tcp", "tls", "unix"]],
    parameters={"in_flight": "in flight"},
    reference={"name": "tcp"},
    columns=[
        Column("cycles_per_second"), Column("cycles_per_second", ratio=True),
        Column("acquire_p50_us"), Column("acquire_p99_us"), Column("client_cpu_us_per_cycle"),
        Column("client_cpu_us_per_cycle", ratio=True), Column("server_cpu_us_per_cycle"),
        Column("server_cpu_us_per_cycle", ratio=True), Column("allocations_per_cycle"),
    ],
    panels=[
        Panel("cycles_per_second", "Throughput, cycles/s", x="in_flight",
              x_title="cycles in flight", log_x=True),
        Panel("client_cpu_us_per_cycle", "Client CPU per cycle, us", x="in_flight",
              x_title="cycles in flight", log_x=True, log_y=True),
    ],
)
