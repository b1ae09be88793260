"""Time from the start of a program to its first lock."""

from harness.question import Case, Column, Panel, Question


def over(transport, times):
    return Case(transport, "redlock-bench", ["start", "--times", str(times)],
                transport=transport, seconds=0, warm_up=0, overhead=0.3 + times / 200,
                is_cycle=False)


QUESTION = Question(
    name="startup",
    title="From start-up to the first lock",
    about="The time from before a client is created until it has a lock with a fencing token on "
          "five nodes. It includes the connections, their handshakes and the acquire. A hundred "
          "clients start one after the other. Ratios compare each case with TCP.",
    cases=lambda quick: [over(t, 10 if quick else 100) for t in ["tcp", "tls", "unix"]],
    reference={"name": "tcp"},
    columns=[Column("first_lock_p50_us"), Column("first_lock_p50_us", ratio=True),
             Column("first_lock_p99_us")],
    panels=[Panel("first_lock_p50_us", "First lock, p50 us")],
)
