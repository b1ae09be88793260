"""What a held lock and a waiter take."""

from harness.question import Case, Column, Panel, Question, Target


def read(name, many, key):
    return lambda told: [(name, {"of": many}, {"bytes_each": told[key]})]


def cases(quick):
    many = 2000 if quick else 100_000

    def held(name, arguments):
        return Case(name, "redlock-keep",
                    ["--json", "--locks", str(many), "--ttl", "60000", *arguments],
                    seconds=0.2, warm_up=0.1, overhead=0.5 + many / 25_000,
                    read=read(name, many, "bytes_per_lock"))

    return [
        held("a held lock", ["--no-keep-alive"]),
        held("a lock that is kept alive", []),
        Case("a waiter", "redlock-wait", ["--json", "--local", "3", "--waiters", str(many)],
             nodes=None, seconds=0.5, warm_up=0.1, overhead=0.5 + many / 10_000,
             read=read("a waiter", many, "bytes_per_waiter")),
    ]


QUESTION = Question(
    name="memory",
    title="Memory of a held lock, a kept one and a waiter",
    about="The growth of the resident memory by so many of them, the lock object and its short "
          "name included; five masters for those held, three for the waiters, who stand in one line.",
    cases=cases,
    parameters={"of": "of"},
    reference={},
    rounds=2,
    columns=[Column("bytes_each")],
    targets=[
        Target("a held lock", {"of": 100_000}, "bytes_each",
               "bytes of a held lock and of its key of ten characters", most=410),
    ],
    panels=[Panel("bytes_each", "Memory of each, bytes")],
)
