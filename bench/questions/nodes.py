"""Cost of each further node. It grows along one line, with any number of cycles in flight."""

import statistics

from harness.question import MANY, Column, Panel, Question, cycle

NODES = [1, 3, 5, 7]
IN_FLIGHT = [1, 64, 1000, 10_000]


def cases(quick):
    levels = IN_FLIGHT[1:2] if quick else IN_FLIGHT
    return [cycle(name, n, masters=m, parameters={"in_flight": n, "nodes": m},
                  seconds=None if quick else 0.35, warm_up=None if quick else 0.15,
                  rounds=1 if n >= MANY else None,
                  counts_calls=name == "callback" and n == 64)
            for n in levels for name in ["floor-asio", "callback"] for m in NODES]


def slope(points):
    """Returns the slope of the least-squares line through the points."""
    return statistics.linear_regression(*zip(*points)).slope


def conclude(answer):
    """Adds the cost of each further node to the case with the most nodes."""
    groups = {}
    for case in answer.cases.values():
        groups.setdefault((case["name"], case["parameters"]["in_flight"]), []).append(case)
    for group in groups.values():
        for r, last in enumerate(group[-1]["rounds"]):
            for side in ["client", "server"]:
                points = [(c["parameters"]["nodes"], c["rounds"][r][f"{side}_cpu_us_per_cycle"])
                          for c in group]
                last["slope_client_us" if side == "client" else "slope_servers_us"] = slope(points)


QUESTION = Question(
    name="nodes",
    title="What each node costs",
    about="The same cycles with one, three, five and seven nodes. The node timeout is 1 s with "
          "10 000 in flight, and 50 ms otherwise. The cases with 10 000 in flight have one "
          "round. The four numbers of nodes give four values of processor time per cycle. The "
          "cost of one node is the slope of the least-squares line through them. The row with "
          "seven nodes shows it. With 64 and 1000 in flight the processor time of the servers is "
          "near this line. From one node to three the client's processor time rises more than "
          "after that, because with one node the first answer decides. Ratios compare each case "
          "with `floor-asio`.",
    cases=cases,
    parameters={"in_flight": "in flight", "nodes": "nodes"},
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
        Panel("client_cpu_us_per_cycle", "Client CPU per cycle, us, 64 in flight", x="nodes",
              x_title="nodes", only=lambda case: case["parameters"]["in_flight"] == 64),
        Panel("cycles_per_second", "Throughput, cycles/s, 64 in flight", x="nodes",
              x_title="nodes", only=lambda case: case["parameters"]["in_flight"] == 64),
    ],
    conclude=conclude,
)
