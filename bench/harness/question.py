"""The parts of a question: cases that are measured in turn, a table and a picture."""

import dataclasses
import typing


@dataclasses.dataclass
class Case:
    """One program, which runs once in each round."""

    name: str
    program: str
    arguments: list
    parameters: dict = dataclasses.field(default_factory=dict)
    masters: int = 5
    transport: str = "tcp"
    # None: the program starts its own, which it can stop.
    nodes: typing.Optional[str] = "--nodes"
    # The measured time. None: the run's own.
    seconds: typing.Optional[float] = None
    warm_up: typing.Optional[float] = None
    # Seconds beside the measured time and the warm-up.
    overhead: float = 0.3
    # Counts the case's system calls, in a run of their own.
    counts_calls: bool = False
    # The delay of the first node, in milliseconds.
    delay_ms: typing.Optional[int] = None
    # Turns the program's output into one or more (name, parameters, figures).
    read: typing.Optional[typing.Callable] = None
    # The program reports with --json FILE, and not on its standard output.
    tells_by_file: bool = False
    # A node's SETs are its cycles.
    is_cycle: bool = True
    # The most rounds, even if the question has more.
    rounds: typing.Optional[int] = None
    # A peer, beside the program. Without it the case is left out.
    needs: typing.Optional[str] = None

    def rounds_of(self, rounds):
        return rounds if self.rounds is None else min(rounds, self.rounds)


@dataclasses.dataclass
class Column:
    figure: str
    # The ratio to the reference in the same round, in place of the figure itself.
    ratio: bool = False


@dataclasses.dataclass
class Target:
    """A bound for a figure of one case, or for its ratio to another figure of the same round. The
    median of the rounds counts."""

    name: str
    parameters: dict
    figure: str
    # The bounded quantity. The page adds the bound itself.
    text: str
    # The difference from the case that it is compared with: its name, a parameter, or the figure.
    against: typing.Optional[dict] = None
    least: typing.Optional[float] = None
    most: typing.Optional[float] = None

    def other(self):
        """Returns name, parameters and figure of the case that the target is compared with."""
        changed = dict(self.against)
        name, figure = changed.pop("name", self.name), changed.pop("figure", self.figure)
        return name, self.parameters | changed, figure

    def bound(self):
        return "least" if self.least is not None else "most"

    def is_met_by(self, value):
        return value >= self.least if self.least is not None else value <= self.most


@dataclasses.dataclass
class Panel:
    """One diagram: a line for each name over a parameter, or a bar for each case."""

    figure: str
    title: str
    x: typing.Optional[str] = None
    x_title: str = ""
    log_x: bool = False
    log_y: bool = False
    ratio: bool = False
    only: typing.Callable = lambda case: True
    # The parameters that label a bar, beside its name.
    by: tuple = ()


@dataclasses.dataclass
class Question:
    name: str
    title: str
    # The question and the way it is measured, printed above the table.
    about: str
    cases: typing.Callable
    columns: list
    panels: list
    # The parameters, or the name, of the case that a case is measured against.
    reference: dict
    parameters: dict = dataclasses.field(default_factory=dict)
    rounds: int = 3
    targets: list = dataclasses.field(default_factory=list)
    # Further figures from all cases, after the last round.
    conclude: typing.Optional[typing.Callable] = None


FLOORS = {"floor-epoll": "redlock-floor-epoll", "floor-asio": "redlock-floor-asio"}
LIBRARY = {
    "callback": ["--no-fencing"],
    "await": ["--no-fencing", "--api", "await"],
    "strand": ["--no-fencing", "--thread-safe"],
    "fencing": ["--fencing"],
}
PEERS = {"boost-redis": "redlock-peer-boost-redis", "hiredis": "redlock-peer-hiredis",
         "node-redlock": "node-redlock"}


# With this many workers the nodes of one machine answer later than a node timeout of 50 ms allows,
# which is no failure of the nodes. The floors wait without a timeout.
MANY = 10_000


def cycle(name, in_flight, masters=5, arguments=(), parameters=None, **more):
    """Makes a case with uncontended cycles of a program that gives the common figures."""
    if name in LIBRARY:
        program, own = "redlock-bench", ["run", "--output", "json", *LIBRARY[name]]
        if in_flight >= MANY:
            own += ["--node-timeout", "1000"]
    else:
        program, own = (FLOORS | PEERS)[name], ["--json"]
    return Case(
        name, program, [*own, "--workers", str(in_flight), *arguments],
        {"in_flight": in_flight} if parameters is None else parameters, masters,
        # A run with more workers begins and ends them all, each with a name of its own.
        overhead=0.3 + in_flight / 20_000 + (0.5 if name in PEERS else 0), **more)
