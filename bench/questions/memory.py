"""What a held lock and a waiter take."""

from harness.question import Case, Column, Panel, Question


def read(name, many, key):
    return lambda told: [(name, {"of": many}, {"bytes_each": told[key]})]


def cases(quick):
    many = 2000 if quick else 100_000
    return [
        Case("a held lock", "redlock-keep", ["--json", "--locks", str(many), "--ttl", "60000"],
             masters=3, seconds=0.2, warm_up=0.1, overhead=0.5 + many / 40_000,
             read=read("a held lock", many, "bytes_per_lock")),
        Case("a waiter", "redlock-wait", ["--json", "--local", "3", "--waiters", str(many)],
             nodes=None, seconds=0.5, warm_up=0.1, overhead=0.5 + many / 10_000,
             read=read("a waiter", many, "bytes_per_waiter")),
    ]


QUESTION = Question(
    name="memory",
    title="Memory of a held lock and of a waiter",
    about="The growth of the resident memory by so many of them, the lock object and its short "
          "name included; the waiters stand in one line.",
    cases=cases,
    parameters={"of": "of"},
    reference={},
    rounds=2,
    columns=[Column("bytes_each")],
    panels=[Panel("bytes_each", "Memory of each, bytes")],
)
