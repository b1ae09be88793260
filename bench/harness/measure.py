"""Runs the cases of a question in turn, round after round, and counts."""

import collections
import json
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from harness.figures import FIGURES
from harness.masters import Masters, end_with_parent
from harness.trouble import Trouble

# A program that takes this many seconds longer than planned is stuck.
PATIENCE = 120
# Seconds, and seconds of warm-up, of a run that counts system calls.
CALLS_TIME = 0.3, 0.1
# The number of runs that count them.
CALLS_ROUNDS = 2
SENDING = ["write", "writev", "sendto", "sendmsg", "sendmmsg"]


class Progress:
    """One line that says what is done, and how long the rest will take."""

    def __init__(self, seconds):
        self.total, self.done, self.began = seconds, 0.0, time.monotonic()
        self.is_terminal = sys.stderr.isatty()
        self.said = None

    def begin(self, question, what):
        passed = time.monotonic() - self.began
        # The pace so far, once it is known.
        pace = passed / self.done if self.done > 10 else 1
        left = max(0, self.total - self.done) * pace
        head = f"[{min(99, int(100 * self.done / self.total)):2d} %, {int(left) // 60}:{int(left) % 60:02d} left]"
        if self.is_terminal:
            sys.stderr.write(f"\r\033[K{head} {question}: {what}"[:100])
        elif question != self.said:
            sys.stderr.write(f"{head} {question}\n")
        self.said = question
        sys.stderr.flush()

    def end(self, seconds):
        self.done += seconds

    def close(self):
        if self.is_terminal:
            sys.stderr.write("\r\033[K")


class Delayed:
    """A slow way to a node, while this context is entered."""

    def __init__(self, program, master, delay_ms):
        self.command = [str(program), "--port", str(master.port), "--delay", str(delay_ms)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, preexec_fn=end_with_parent)
        url = self.process.stdout.readline().strip()
        if not url:
            raise Trouble("redlock-delay does not come up")
        return url

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


def numbers(told):
    return {key: value for key, value in told.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)}


class Lengths:
    """Durations of the runs."""

    def __init__(self, quick):
        self.seconds, self.warm_up = (0.3, 0.1) if quick else (0.8, 0.2)

    def time_of(self, case):
        seconds = self.seconds if case.seconds is None else case.seconds
        warm_up = self.warm_up if case.warm_up is None else case.warm_up
        return seconds, warm_up

    def once(self, case):
        return sum(self.time_of(case)) + case.overhead

    def counting(self, case):
        """Returns the seconds of the run in which system calls are counted."""
        return sum(CALLS_TIME) + case.overhead

    def cost(self, case, rounds):
        """Returns the seconds that all runs of a case take."""
        done = case.rounds_of(rounds)
        counting = self.counting(case) * min(done, CALLS_ROUNDS) if case.counts_calls else 0
        return self.once(case) * done + counting


class Bench(Lengths):
    """The programs and the nodes."""

    def __init__(self, folder, quick, server, peers):
        super().__init__(quick)
        self.folder, self.peers = folder, peers
        self.server = server
        self.masters, self.versions = None, {}
        self.commands = {}

    def begin(self):
        """Begins a question, on nodes of its own. Memory that other questions used on a node does
        not come back with the deletion of the keys. `versions` are of what takes part in it."""
        self.end()
        self.masters = Masters(7, self.server)
        self.versions = {"server": self.masters.version()}

    def end(self):
        if self.masters is not None:
            self.masters.end()
            self.masters = None

    def command(self, case, urls, time_of=None):
        if case.program == "node-redlock":
            start = ["node", str(self.peers / "node_redlock" / "cycle.mjs")]
        else:
            start = [str(self.folder / case.program)]
        seconds, warm_up = time_of or self.time_of(case)
        all_of_it = [*start, *case.arguments]
        if seconds > 0:
            all_of_it += ["--seconds", f"{seconds:g}", "--warmup", f"{warm_up:g}"]
        if case.nodes is None:
            all_of_it += ["--server", self.server]
        told = shlex.join([case.program, *all_of_it[len(start):]])
        # The folder of the run does not matter.
        self.commands[id(case)] = told.replace(f"{self.peers.parent.parent}/", "")
        if case.transport == "tls":
            all_of_it += ["--ca-file", str(self.masters.ca_file)]
        if case.nodes is not None:
            all_of_it += [case.nodes, *urls]
            if seconds > 0:
                all_of_it += ["--server-pids", *self.masters.pids(case.masters)]
        return all_of_it

    def told_by(self, case, before=(), after=(), time_of=None):
        """Runs a case, with words before and after its command, and returns what it writes."""
        self.masters.begin_anew()
        urls = self.masters.urls(case.masters, case.transport)
        if case.delay_ms is None:
            return self.output_of(case, [*before, *self.command(case, urls, time_of), *after])
        slow = Delayed(self.folder / "redlock-delay", self.masters.all[0], case.delay_ms)
        with slow as url:
            command = self.command(case, [url, *urls[1:]], time_of)
            return self.output_of(case, [*before, *command, *after])

    def output_of(self, case, command):
        try:
            with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
                ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=errors, text=True, preexec_fn=end_with_parent,
                                     timeout=PATIENCE + self.once(case), check=False)
                errors.seek(0)
                said = errors.read().strip()
        except subprocess.TimeoutExpired as e:
            raise Trouble(f"{shlex.join(command)}: does not end") from e
        except OSError as e:
            raise Trouble(f"{command[0]}: {e.strerror}") from e
        if ran.returncode != 0:
            raise Trouble(f"{shlex.join(command)}: status {ran.returncode}: {said}")
        return ran.stdout

    def measure(self, case):
        """Runs a case once, and returns (name, parameters, figures) for each result."""
        if case.tells_by_file:
            with tempfile.NamedTemporaryFile("r", encoding="utf-8") as file:
                self.told_by(case, after=["--json", file.name])
                told = json.load(file)
        else:
            told = json.loads(self.told_by(case))
        for one in told if isinstance(told, list) else [told, *told.values()]:
            if isinstance(one, dict):
                self.versions |= one.get("versions", {})
        if case.read is not None:
            return case.read(told)
        figures = numbers(told)
        if "peak_rss_kib" in figures:
            figures["peak_mib"] = figures["peak_rss_kib"] / 1024
        if case.is_cycle and case.nodes is not None:
            counted = self.masters.counted(case.masters)
            if counted["sets"] > 0:
                figures["bytes_per_cycle"] = counted["bytes"] / counted["sets"]
        return [(case.name, case.parameters, figures)]

    def calls_of(self, case):
        """Counts the system calls in a cycle, and how many of them send, over the whole life of
        the program. Returns nothing without strace."""
        if shutil.which("strace") is None:
            return {}
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as counts:
            self.told_by(case, ["strace", "-f", "-c", "-U", "calls,name", "-o", counts.name],
                         time_of=CALLS_TIME)
            rows = [line.split() for line in counts]
        calls = {row[1]: int(row[0]) for row in rows if len(row) == 2 and row[0].isdigit()}
        sets = self.masters.counted(case.masters)["sets"]
        if "total" not in calls or sets == 0:
            return {}
        return {"system_calls_per_cycle": calls["total"] / sets,
                "writes_per_cycle": sum(calls.get(name, 0) for name in SENDING) / sets}


def identity(name, parameters):
    return (name, *sorted(parameters.items()))


def summary(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def ratios(mine, theirs):
    """Divides figures of the same round, because a machine that is slow for a while slows both."""
    return [a / b for a, b in zip(mine, theirs) if a is not None and b]


class Answer:
    """All measured figures of one question."""

    def __init__(self, question):
        self.question = question
        # By identity: name, parameters, command, and the figures of each round.
        self.cases = collections.OrderedDict()

    def add(self, name, parameters, figures, command):
        kept = self.cases.setdefault(identity(name, parameters), {
            "name": name, "parameters": parameters, "command": command, "rounds": []})
        kept["rounds"].append(figures)

    def reference_of(self, case):
        changed = dict(self.question.reference)
        name = changed.pop("name", case["name"])
        return self.cases.get(identity(name, case["parameters"] | changed))

    def told(self):
        return [self.told_of(case) for case in self.cases.values()]

    def values(self, name, parameters, figure):
        """Returns a figure of each round, or None for a round that lacks it."""
        case = self.cases.get(identity(name, parameters))
        return [r.get(figure) for r in case["rounds"]] if case is not None else []

    def measured(self, target):
        """Returns the figure that the target bounds, or None if it was not measured."""
        mine = self.values(target.name, target.parameters, target.figure)
        if target.against is None:
            values = [value for value in mine if value is not None]
        else:
            values = ratios(mine, self.values(*target.other()))
        return statistics.median(values) if values else None

    def targets(self):
        return [self.target_of(target) for target in self.question.targets]

    def target_of(self, target):
        value = self.measured(target)
        return {
            "text": target.text, "name": target.name, "parameters": target.parameters,
            "figure": target.figure, "against": target.against,
            target.bound(): getattr(target, target.bound()), "measured": value,
            "met": target.is_met_by(value) if value is not None else None,
        }

    def told_of(self, case):
        reference = self.reference_of(case)
        figures = {}
        for key in FIGURES:
            values = [r[key] for r in case["rounds"] if key in r]
            if not values:
                continue
            figures[key] = summary(values) | {"values": values}
            if reference is not None:
                found = ratios([r.get(key) for r in case["rounds"]],
                               [r.get(key) for r in reference["rounds"]])
                if found:
                    figures[key]["ratio"] = summary(found)
        return {key: case[key] for key in ("name", "parameters", "command")} | {"figures": figures}


def answer(question, bench, progress, cases, rounds):
    result = Answer(question)
    bench.begin()
    for r in range(rounds):
        asked = [case for case in cases if r < case.rounds_of(rounds)]
        # Each round begins with a different case, so that no case always has the same neighbour.
        first = r * len(asked) // rounds
        for case in asked[first:] + asked[:first]:
            progress.begin(question.name, f"{case.name} {case.parameters}, round {r + 1} of {rounds}")
            for name, parameters, figures in bench.measure(case):
                result.add(name, parameters, figures, bench.commands[id(case)])
            progress.end(bench.once(case))
    for case in cases:
        if case.counts_calls:
            progress.begin(question.name, f"{case.name} {case.parameters}, its system calls")
            counted = result.cases[identity(case.name, case.parameters)]["rounds"][:CALLS_ROUNDS]
            for figures in counted:
                figures |= bench.calls_of(case)
                progress.end(bench.counting(case))
    if question.conclude is not None:
        question.conclude(result)
    return result
