"""Cost of very many locks that are kept alive."""

from harness.question import Case, Column, Panel, Question, Target


def cases(quick):
    # The first renewals come a quarter of the ttl after the acquires, and no longer in a burst.
    seconds, warm_up, ttl, locks = (1.5, 0.5, 4000, 1000) if quick else (8, 8, 30_000, 100_000)
    return [Case("kept alive", "redlock-keep",
                 ["--json", "--locks", str(locks), "--ttl", str(ttl)], {"locks": locks},
                 seconds=seconds, warm_up=warm_up, overhead=0.5 + locks / 50_000, is_cycle=False)]


QUESTION = Question(
    name="extends",
    title="Very many locks kept alive",
    about="One client with one thread keeps locks with a ttl of 30 s alive, on five nodes, "
          "without fencing tokens. It renews them all the time.",
    cases=cases,
    parameters={"locks": "locks"},
    reference={},
    rounds=2,
    columns=[
        Column("renewals_per_second"), Column("client_cpu_percent"),
        Column("client_cpu_us_per_renewal"),
        Column("server_cpu_percent"), Column("allocations_per_renewal"), Column("lost"),
    ],
    targets=[
        Target("kept alive", {"locks": 100_000}, "client_cpu_percent",
               "client CPU for 100 000 locks with a ttl of 30 s, % of one processor", most=15),
    ],
    panels=[
        Panel("client_cpu_percent", "Client CPU, % of one processor", by=("locks",)),
        Panel("server_cpu_percent", "CPU of all nodes, % of one processor", by=("locks",)),
    ],
)
