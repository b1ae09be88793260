"""Cost of one node that is dead, stopped or slow."""

from harness.measure import numbers
from harness.question import Case, Column, Panel, Question, Target, cycle

DELAY_MS = 5


def halves(fault):
    """Makes three cases of a run: before the fault, its first 0.1 s, and the time after that."""

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
    title="One dead, one stopped, one slow node",
    about="Five nodes, 64 in flight, callbacks. `one dead`: one node is killed. `one stopped`: "
          "one node is stopped by SIGSTOP. `one slow`: a proxy delays the replies of one node "
          f"by {DELAY_MS} ms; in `before` the proxy is there too, without a delay. `at first` is "
          "the first 0.1 s. The client asks a stopped node until the node has missed a node "
          "timeout of 50 ms. The peak includes what the client keeps for the answers of that "
          "node. Ratios compare each case with `before`. On one machine, the other nodes get "
          "the processor time of a node that does nothing.",
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
               "throughput with one node stopped, ratio to the time before",
               {"state": "before"}, least=0.9),
        Target("one stopped", {"state": "after"}, "acquire_p99_us",
               "acquire p99 with one node stopped, ratio to the time before",
               {"state": "before"}, most=1.2),
        Target("one stopped", {"state": "after"}, "peak_mib",
               "peak MiB with one node stopped, ratio to the time before", {"state": "before"},
               most=2),
    ],
    panels=[
        Panel("cycles_per_second", "Throughput, cycles/s", by=("state",)),
        Panel("acquire_p99_us", "Acquire p99, us", by=("state",)),
    ],
)
