"""Throughput and waits of many workers that want one lock."""

import pathlib

from harness.measure import identity, numbers
from harness.question import Case, Column, Panel, Question, Target

PEER = pathlib.Path(__file__).resolve().parent.parent / "peers" / "node_redlock"
# Long enough to compare the turns of sixty-four workers of eight processes.
LONG = 10


def reader(name, parameters):
    def read(told):
        one = told[0]
        figures = numbers(one) | {key.replace("_us", "_ms"): one[key] / 1000
                                  for key in ["wait_p50_us", "wait_p99_us"]}
        # A worker without any grant counts as a worker with one.
        figures["most_to_least"] = one["most_of_a_worker"] / max(one["least_of_a_worker"], 1)
        # Without any grant there are no such figures.
        if one["grants"] == 0:
            figures = {key: value for key, value in figures.items()
                       if not key.startswith(("hand_over", "commands", "most_to_least"))}
        return [(name, parameters, figures)]

    return read


def contend(name, hold_ms, seconds, quick=False, rounds=None):
    parameters = {"hold_ms": hold_ms, "seconds": seconds}
    arguments = ["contend", "--node-count", "5", "--hold", str(hold_ms), "--case", name]
    needs = None
    if name.endswith("node-redlock"):
        needs = "node-redlock"
        arguments += ["--node-redlock", str(PEER)]
    return Case(name, "redlock-bench", arguments, parameters, nodes=None, needs=needs,
                seconds=0.3 if quick else seconds, warm_up=0.1 if quick else 0.5, rounds=rounds,
                read=reader(name, parameters), tells_by_file=True, overhead=0.5)


def cases(quick):
    in_one = ["lone worker", "one process", "8 clients", "64 clients", "256 clients",
              "64 clients, delay", "node-redlock"]
    in_eight = ["lone worker", "64 clients", "8 processes", "8 x node-redlock"]
    if quick:
        return [contend(name, 1, 2, quick)
                for name in ["lone worker", "one process", "64 clients", "8 processes"]]
    return [*(contend(name, 1, 2) for name in in_one),
            *(contend(name, 0, 2) for name in ["lone worker", "one process", "8 processes"]),
            *(contend(name, 1, LONG, rounds=1) for name in in_eight)]


def conclude(answer):
    """Divides the time of a hand-over by a quorum round trip. A lone worker's hand-over takes two
    of them: a release and an acquire."""
    for case in answer.cases.values():
        lone = answer.cases.get(identity("lone worker", case["parameters"]))
        if case["parameters"]["hold_ms"] > 0 or lone is None:
            continue
        for mine, theirs in zip(case["rounds"], lone["rounds"]):
            if "hand_over_p50_us" in mine and "hand_over_p50_us" in theirs:
                mine["hand_over_trips"] = 2 * mine["hand_over_p50_us"] / theirs["hand_over_p50_us"]


ONE = {"hold_ms": 1, "seconds": 2}
NO_HOLD = {"hold_ms": 0, "seconds": 2}
EIGHT = {"hold_ms": 1, "seconds": LONG}
OF_LONE = {"name": "lone worker"}

TARGETS = [
    Target("one process", ONE, "grants_per_second",
           "one process: grants per second, ratio to the lone worker", OF_LONE, least=0.95),
    Target("one process", ONE, "wait_p99_ms", "one process: wait p99, ratio to its median",
           {"figure": "wait_p50_ms"}, most=1.3),
    Target("one process", ONE, "most_to_least",
           "one process: most grants of a worker, ratio to the fewest", most=1.1),
    Target("one process", ONE, "commands_per_node_and_grant",
           # Includes the commands that are under way at the end.
           "one process: commands per node and grant", most=2.01),
    Target("one process", NO_HOLD, "hand_over_trips",
           "one process, hold 0 ms: hand-over in quorum round trips", most=1.5),
    Target("8 clients", ONE, "grants_per_second",
           "8 clients: grants per second, ratio to the lone worker", OF_LONE, least=0.95),
    Target("64 clients", ONE, "grants_per_second",
           "64 clients: grants per second, ratio to the lone worker", OF_LONE, least=0.9),
    Target("64 clients", EIGHT, "most_to_least",
           "64 clients: most grants of a worker, ratio to the fewest", most=1.2),
    Target("64 clients", EIGHT, "wait_p99_ms", "64 clients: wait p99, ratio to its median",
           {"figure": "wait_p50_ms"}, most=1.3),
    Target("8 processes", EIGHT, "grants_per_second",
           "8 processes: grants per second, ratio to the lone worker", OF_LONE, least=0.8),
    Target("8 processes", EIGHT, "wait_p99_ms", "8 processes: wait p99, ratio to node-redlock",
           {"name": "8 x node-redlock"}, most=0.2),
    Target("8 processes", EIGHT, "most_to_least",
           "8 processes: most grants of a worker, ratio to the fewest", most=2),
]

QUESTION = Question(
    name="contention",
    title="When all want one lock",
    about="All workers want one lock on five nodes, without a fencing token (`redlock-bench "
          "contend`). [bench/README.md](../../bench/README.md#when-all-want-one-lock) describes "
          "the cases. Each ratio compares a case with the lone worker of the same hold time and "
          "duration. A hand-over of the lone worker is a release and an acquire, so it takes two "
          "quorum round trips. If a worker gets no grant, its wait counts from its call to the "
          "end of the run. So if no worker gets a grant, every wait is as long as the run. Cases "
          "of ten seconds have one round.",
    cases=cases,
    parameters={"hold_ms": "hold ms", "seconds": "seconds"},
    reference={"name": "lone worker"},
    rounds=2,
    columns=[
        Column("grants_per_second"), Column("grants_per_second", ratio=True),
        Column("wait_p50_ms"), Column("wait_p99_ms"), Column("hand_over_p50_us"),
        Column("hand_over_trips"), Column("least_of_a_worker"), Column("most_of_a_worker"),
        Column("commands_per_node_and_grant"), Column("failures"),
    ],
    targets=TARGETS,
    panels=[
        Panel("grants_per_second", "Grants per second, held for 1 ms", by=("seconds",),
              only=lambda case: case["parameters"]["hold_ms"] == 1),
        Panel("wait_p99_ms", "Wait p99, ms, held for 1 ms", by=("seconds",),
              only=lambda case: case["parameters"]["hold_ms"] == 1),
    ],
    conclude=conclude,
)
