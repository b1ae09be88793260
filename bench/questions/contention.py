"""How those fare who all want one lock."""

import pathlib

from harness.measure import numbers
from harness.question import Case, Column, Panel, Question

PEER = pathlib.Path(__file__).resolve().parent.parent / "peers" / "node_redlock"


def read(told):
    results = []
    for one in told:
        figures = numbers(one) | {key.replace("_us", "_ms"): one[key] / 1000
                                  for key in ["wait_p50_us", "wait_p99_us"]}
        # Where nobody was served there is no such figure.
        results.append((one["name"], {},
                        {key: value for key, value in figures.items() if value is not None}))
    return results


def cases(quick):
    seconds, warm_up = (0.3, 0.1) if quick else (1.5, 0.5)
    arguments = ["contend", "--masters", "5", "--hold", "1"]
    parties = 6
    if (PEER / "node_modules").is_dir() and not quick:
        arguments += ["--node-redlock", str(PEER)]
        parties = 8
    return [Case("contend", "redlock-bench", arguments, nodes=None, seconds=seconds,
                 warm_up=warm_up, read=read, tells_by_file=True,
                 overhead=(parties - 1) * (seconds + warm_up) + parties * 0.3)]


QUESTION = Question(
    name="contention",
    title="When all want one lock, in short",
    about="One name, held for 1 ms, five masters, plain locks: `redlock-bench contend`, of which "
          "[bench/README.md](../bench/README.md) says what each party is. A ratio is to the lone "
          "worker.",
    cases=cases,
    reference={"name": "lone worker"},
    rounds=2,
    columns=[
        Column("grants_per_second"), Column("grants_per_second", ratio=True),
        Column("wait_p50_ms"), Column("wait_p99_ms"), Column("hand_over_p50_us"),
        Column("commands_per_node_and_grant"), Column("failures"),
    ],
    panels=[
        Panel("grants_per_second", "Grants a second, held for 1 ms"),
        Panel("wait_p99_ms", "Wait p99, ms, held for 1 ms"),
    ],
)
