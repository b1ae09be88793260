"""What one master costs that is dead, stopped or slow."""

from harness.measure import numbers
from harness.question import Case, Column, Panel, Question, Target, cycle

DELAY_MS = 5


def halves(fault):
    """One run gives three: before the fault, the first 0.1 s of it, and from then on."""

    def read(told):
        return [(fault, {"state": state}, numbers(told[part]) | {
            "peak_mib": told[part]["peak_rss_kib"] / 1024})
            for part, state in [("healthy", "before"), ("settling", "at first"),
                                ("frozen", "after")]]

    return read


def fault(name, how, seconds):
    arguments = ["run", "--output", "json", "--no-fencing", "--local", "5", "--stop-node", "0",
                 "--stop-with", how]
    return Case(name, "redlock-bench", arguments, nodes=None, seconds=seconds, overhead=0.6,
                read=halves(name))


def slow(state, delay_ms):
    case = cycle("callback", 64, parameters={"state": state}, delay_ms=delay_ms)
    case.name = "one slow"
    return case


def cases(quick):
    seconds = 1.0 if quick else 3.0
    return [fault("one dead", "kill", seconds), fault("one stopped", "stop", seconds),
            slow("before", 0), slow("after", DELAY_MS)]


QUESTION = Question(
    name="faults",
    title="One dead, one stopped, one slow master",
    about=f"Five masters, 64 in flight, callbacks. One is killed, one is stopped by SIGSTOP, and "
          f"the replies of one travel for {DELAY_MS} ms, by a proxy in front of it, which is there "
          "`before` as well, without a delay. `At first` are the first 0.1 s: a stopped master is "
          "asked until it has missed a node timeout, of 50 ms, and what is kept for its answers is in "
          "the peak. A ratio is to what was before. On one machine the "
          "other masters get the processor time of one that does nothing.",
    cases=cases,
    parameters={"state": "state"},
    reference={"state": "before"},
    columns=[
        Column("cycles_per_second"), Column("cycles_per_second", ratio=True),
        Column("acquire_p50_us"), Column("acquire_p99_us"), Column("acquire_p99_us", ratio=True),
        Column("acquire_p999_us"), Column("acquire_max_us"), Column("client_cpu_us_per_cycle"), Column("peak_mib"),
        Column("failures"),
    ],
    targets=[
        Target("one stopped", {"state": "after"}, "cycles_per_second",
               "throughput with one stopped, of that before", {"state": "before"}, least=0.9),
        Target("one stopped", {"state": "after"}, "acquire_p99_us",
               "acquire p99 with one stopped, of that before", {"state": "before"}, most=1.2),
        Target("one stopped", {"state": "after"}, "peak_mib",
               "peak MiB with one stopped, of that before", {"state": "before"}, most=2),
    ],
    panels=[
        Panel("cycles_per_second", "Throughput, cycles/s", by=("state",)),
        Panel("acquire_p99_us", "Acquire p99, us", by=("state",)),
    ],
)
