"""Names and formats of all figures, for every program that gives them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Figure:
    title: str
    unit: str
    digits: int = 0


FIGURES = {
    "cycles_per_second": Figure("cycles/s", "cycles/s"),
    "acquire_p50_us": Figure("p50 us", "us"),
    "acquire_p99_us": Figure("p99 us", "us"),
    "acquire_p999_us": Figure("p99.9 us", "us"),
    "acquire_max_us": Figure("longest us", "us"),
    "client_cpu_us_per_cycle": Figure("client us/cycle", "us", 2),
    "server_cpu_us_per_cycle": Figure("servers us/cycle", "us", 2),
    "allocations_per_cycle": Figure("new/cycle", "calls", 2),
    "bytes_per_cycle": Figure("bytes/cycle", "bytes"),
    "system_calls_per_cycle": Figure("system calls/cycle", "calls", 2),
    "writes_per_cycle": Figure("writes/cycle", "calls", 2),
    "failures": Figure("failures", "cycles"),
    "peak_mib": Figure("peak MiB", "MiB", 1),
    "slope_client_us": Figure("client us/node", "us", 2),
    "slope_servers_us": Figure("servers us/node", "us", 2),
    "renewals_per_second": Figure("renewals/s", "renewals/s"),
    "client_cpu_percent": Figure("client CPU %", "% of one processor", 1),
    "server_cpu_percent": Figure("servers' CPU %", "% of one processor", 1),
    "client_cpu_us_per_renewal": Figure("client us/renewal", "us", 2),
    "allocations_per_renewal": Figure("new/renewal", "calls", 4),
    "lost": Figure("lost", "locks"),
    "bytes_each": Figure("bytes each", "bytes"),
    "grants_per_second": Figure("grants/s", "grants/s"),
    "wait_p50_ms": Figure("wait p50 ms", "ms", 1),
    "wait_p99_ms": Figure("wait p99 ms", "ms", 1),
    "hand_over_p50_us": Figure("hand-over p50 us", "us"),
    "hand_over_trips": Figure("hand-over, quorum round trips", "quorum round trips", 2),
    "least_of_a_worker": Figure("fewest grants of a worker", "grants"),
    "most_of_a_worker": Figure("most grants of a worker", "grants"),
    "most_to_least": Figure("most to least", "times", 2),
    "commands_per_node_and_grant": Figure("commands per node and grant", "commands", 2),
    "first_lock_p50_us": Figure("first lock p50 us", "us"),
    "first_lock_p99_us": Figure("first lock p99 us", "us"),
}


def grouped(number, digits):
    """Formats a number, with a space between thousands if it has five digits or more."""
    text = f"{number:,.{digits}f}"
    return text.replace(",", " ") if abs(number) >= 10_000 else text.replace(",", "")


def shown(key, value):
    digits = FIGURES[key].digits
    # A latency of some microseconds must not lose half of its digits.
    if digits == 0 and 0 < value < 10 and FIGURES[key].unit == "us":
        digits = 1
    return grouped(value, digits)
