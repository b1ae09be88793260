"""How the cost grows with the masters: by a line, the same with any number in flight."""

import statistics

from harness.question import MANY, Column, Panel, Question, cycle

MASTERS = [1, 3, 5, 7]
IN_FLIGHT = [1, 64, 1000, 10_000]


def cases(quick):
    levels = IN_FLIGHT[1:2] if quick else IN_FLIGHT
    return [cycle(name, n, masters=m, parameters={"in_flight": n, "masters": m},
                  seconds=None if quick else 0.35, warm_up=None if quick else 0.15,
                  rounds=1 if n >= MANY else None,
                  counts_calls=name == "callback" and n == 64)
            for n in levels for name in ["floor-asio", "callback"] for m in MASTERS]


def slope(points):
    """Of the line nearest to them all."""
    return statistics.linear_regression(*zip(*points)).slope


def conclude(answer):
    """What each further master costs, with the case of the most masters."""
    groups = {}
    for case in answer.cases.values():
        groups.setdefault((case["name"], case["parameters"]["in_flight"]), []).append(case)
    for group in groups.values():
        for r, last in enumerate(group[-1]["rounds"]):
            for side in ["client", "server"]:
                points = [(c["parameters"]["masters"], c["rounds"][r][f"{side}_cpu_us_per_cycle"])
                          for c in group]
                last["slope_client_us" if side == "client" else "slope_servers_us"] = slope(points)


QUESTION = Question(
    name="masters",
    title="What each master costs",
    about="The same with one, three, five and seven masters; the node timeout is 1 s with 10 000 in "
          "flight, which is measured once, else 50 ms. The slope, told with the most "
          "masters, is that of the line nearest to the processor time a cycle of all four. With 64 and "
          "1000 in flight the servers lie near it, and the client rises more from one to three than from "
          "there on, as one master decides alone. Ratios are to `floor-asio`.",
    cases=cases,
    parameters={"in_flight": "in flight", "masters": "masters"},
    reference={"name": "floor-asio"},
    columns=[
        Column("cycles_per_second"), Column("cycles_per_second", ratio=True),
        Column("acquire_p50_us"), Column("acquire_p99_us"), Column("acquire_p999_us"),
        Column("client_cpu_us_per_cycle"), Column("slope_client_us"),
        Column("server_cpu_us_per_cycle"), Column("slope_servers_us"),
        Column("allocations_per_cycle"), Column("bytes_per_cycle"),
        Column("system_calls_per_cycle"),
    ],
    panels=[
        Panel("client_cpu_us_per_cycle", "Client CPU a cycle, us, 64 in flight", x="masters",
              x_title="masters", only=lambda case: case["parameters"]["in_flight"] == 64),
        Panel("cycles_per_second", "Throughput, cycles/s, 64 in flight", x="masters",
              x_title="masters", only=lambda case: case["parameters"]["in_flight"] == 64),
    ],
    conclude=conclude,
)
