"""usage: harness_test.py <build folder>
What bench/run counts, writes and refuses."""

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import runpy
import socket
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH))

from harness import figures, page, plots  # noqa: E402
from harness.masters import Masters, free_port  # noqa: E402
from harness.measure import Answer, Bench, Lengths  # noqa: E402
from harness.question import Target  # noqa: E402
from harness.trouble import Trouble  # noqa: E402
from questions import all_questions, nodes, styles  # noqa: E402

BUILD = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([BENCH / "run", "--build", BUILD, *arguments], capture_output=True,
                          text=True, check=False)


def answered(question, rounds):
    """rounds: of each name, the cycles/s of each round."""
    result = Answer(question)
    for name, values in rounds.items():
        for value in values:
            result.add(name, {"in_flight": 64}, {"cycles_per_second": value}, name)
    return result.told()


class Counting(unittest.TestCase):
    def test_the_median_and_the_extremes_are_of_all_rounds(self):
        told = answered(styles.QUESTION, {"callback": [30, 10, 50]})[0]["figures"]
        speed = told["cycles_per_second"]
        self.assertEqual((speed["median"], speed["least"], speed["most"]), (30, 10, 50))
        self.assertEqual(speed["values"], [30, 10, 50])

    def test_a_ratio_is_to_the_reference_of_the_same_round(self):
        told = answered(styles.QUESTION, {"callback": [10, 100, 20], "await": [20, 50, 20]})
        ratio = told[1]["figures"]["cycles_per_second"]["ratio"]
        self.assertEqual((ratio["median"], ratio["least"], ratio["most"]), (1, 0.5, 2))

    def test_without_its_reference_a_case_has_no_ratio(self):
        told = answered(styles.QUESTION, {"await": [20]})
        self.assertNotIn("ratio", told[0]["figures"]["cycles_per_second"])

    def test_the_slope_is_that_of_the_line(self):
        result = Answer(nodes.QUESTION)
        for count in nodes.NODES:
            result.add("callback", {"in_flight": 64, "nodes": count}, {
                "client_cpu_us_per_cycle": 1 + 0.5 * count,
                "server_cpu_us_per_cycle": 3 * count}, "")
        nodes.conclude(result)
        last = result.told()[-1]["figures"]
        self.assertAlmostEqual(last["slope_client_us"]["median"], 0.5)
        self.assertAlmostEqual(last["slope_servers_us"]["median"], 3)


def targets(rounds, *wanted):
    """rounds: of each name, the figures of each round."""
    result = Answer(dataclasses.replace(styles.QUESTION, targets=list(wanted)))
    for name, every in rounds.items():
        for figures in every:
            result.add(name, {"in_flight": 64}, figures, name)
    return result.targets()


class Targets(unittest.TestCase):
    def speed(self, name="callback", **bound):
        return Target(name, {"in_flight": 64}, "cycles_per_second", "speed", **bound)

    def test_a_bound_is_for_the_median_of_the_rounds(self):
        rounds = {"callback": [{"cycles_per_second": v} for v in [10, 30, 50]]}
        told = targets(rounds, self.speed(least=30), self.speed(least=31), self.speed(most=30),
                       self.speed(most=29))
        self.assertEqual([t["met"] for t in told], [True, False, True, False])
        self.assertEqual([t["measured"] for t in told], [30] * 4)
        self.assertEqual((told[0]["least"], told[2]["most"]), (30, 30))

    def test_a_ratio_is_the_median_of_those_of_each_round(self):
        rounds = {"callback": [{"cycles_per_second": v} for v in [10, 100, 20]],
                  "await": [{"cycles_per_second": v} for v in [20, 50, 20]]}
        told = targets(rounds, self.speed("await", against={"name": "callback"}, least=1.1))
        self.assertEqual((told[0]["measured"], told[0]["met"]), (1, False))

    def test_a_figure_is_compared_with_another_one_of_its_case(self):
        rounds = {"callback": [{"acquire_p99_us": 130, "acquire_p50_us": 100}]}
        target = Target("callback", {"in_flight": 64}, "acquire_p99_us", "spread",
                        {"figure": "acquire_p50_us"}, most=1.3)
        self.assertEqual(targets(rounds, target)[0]["measured"], 1.3)
        self.assertTrue(targets(rounds, target)[0]["met"])

    def test_what_was_not_measured_is_neither_met_nor_missed(self):
        rounds = {"callback": [{"cycles_per_second": 10}]}
        told = targets(rounds, self.speed("strand", least=1),
                       self.speed(against={"name": "strand"}, least=1))
        self.assertEqual([(t["measured"], t["met"]) for t in told], [(None, None)] * 2)

    def test_the_page_names_the_bound_and_what_was_measured(self):
        rounds = {"callback": [{"cycles_per_second": 12_345}]}
        told = {"targets": targets(rounds, self.speed(least=20_000), self.speed("await", most=1))}
        self.assertEqual(page.targets(told).splitlines()[2:], [
            "| speed: at least 20 000 | 12 345 | **no** |", "| speed: at most 1 | - | - |"])

    def test_each_is_for_a_case_and_figures_that_there_are(self):
        for question in all_questions():
            known = {(c.name, *sorted(c.parameters.items())) for c in question.cases(False)}
            for target in question.targets:
                self.assertIn(target.figure, figures.FIGURES)
                self.assertEqual((target.least is None) + (target.most is None), 1, target.text)
                ends = [(target.name, target.parameters)]
                if target.against is not None:
                    ends.append(target.other()[:2])
                for name, parameters in ends:
                    if not any(c.read for c in question.cases(False)):
                        self.assertIn((name, *sorted(parameters.items())), known, target.text)


class Page(unittest.TestCase):
    def test_only_the_block_of_the_question_is_replaced(self):
        mine, other = styles.QUESTION, nodes.QUESTION
        block = f"{page.begin_of(other.name)}\nkept\n{page.end_of(other.name)}"
        old = f"before\n\n{page.begin_of(mine.name)}\nold\n{page.end_of(mine.name)}\n\nafter\n{block}\n"
        new = page.put(old, mine, "new\\1")
        self.assertEqual(new, f"before\n\nnew\\1\n\nafter\n{block}\n")

    def test_a_question_without_a_page_gets_one(self):
        self.assertEqual(page.put("", styles.QUESTION, "new"),
                         f"# {styles.QUESTION.title}\n\nnew\n")

    def test_a_page_without_markers_is_refused(self):
        with self.assertRaisesRegex(Trouble, "the page of styles has no <!-- question: styles -->"):
            page.put("before\n", styles.QUESTION, "new")


class Questions(unittest.TestCase):
    def test_each_has_a_page_that_the_short_one_links_to(self):
        docs = BENCH.parent / "docs"
        short = (docs / "benchmarks.md").read_text(encoding="utf-8")
        for name in (question.name for question in all_questions()):
            text = (docs / "benchmarks" / f"{name}.md").read_text(encoding="utf-8")
            self.assertEqual(text.count(page.begin_of(name)), 1, name)
            self.assertIn(f"](benchmarks/{name}.md)", short)

    def test_each_says_its_parameters_and_has_its_reference(self):
        for question in all_questions():
            for quick in [True, False]:
                for case in question.cases(quick):
                    if case.read is None:
                        self.assertEqual(set(case.parameters) - set(question.parameters), set())

    def test_the_standard_set_takes_less_than_ten_minutes(self):
        told = subprocess.run([BENCH / "run", "--list"], capture_output=True, text=True, check=True)
        seconds = [float(line.split()[1]) for line in told.stdout.splitlines()]
        self.assertEqual(len(seconds), len(all_questions()))
        # Each question also starts its servers, which takes a second or two.
        self.assertLess(sum(seconds), 580)


class Servers(unittest.TestCase):
    def test_who_starts_masters_of_its_own_is_told_which(self):
        starters = [(q, c) for q in all_questions() for c in q.cases(True) if c.nodes is None]
        self.assertEqual({q.name for q, _ in starters}, {"faults", "contention", "memory"})
        for question, case in starters:
            command = [pathlib.Path(BUILD) / "bench" / case.program]
            command += [a for a in case.arguments[:1] if not a.startswith("-")]
            told = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
            self.assertIn("--server ", told.stdout, question.name)
        bench = object.__new__(Bench)
        Lengths.__init__(bench, quick=True)
        bench.folder, bench.peers, bench.commands = BENCH, BENCH / "peers", {}
        bench.server = "another-server"
        for _, case in starters:
            command = bench.command(case, [])
            self.assertEqual(command[command.index("--server") + 1], "another-server")


# Replaces node: one process of contend in which two workers always have the lock at the same time.
TWO_AT_A_TIME = """#!/usr/bin/env python3
import json, sys, time
print("{}", flush=True)
sys.stdin.readline()
now, step = time.clock_gettime_ns(time.CLOCK_MONOTONIC), 10_000_000
turns = [[i % 2, now, now + i * step, now + (i + 2) * step] for i in range(6000)]
sys.stdin.read()
print(json.dumps({"turns": turns, "waiting": [], "commands": 0, "failures": 0}))
"""


class Exclusion(unittest.TestCase):
    def test_contend_fails_where_two_had_the_lock_at_a_time(self):
        with tempfile.TemporaryDirectory() as folder:
            node = pathlib.Path(folder) / "node"
            node.write_text(TWO_AT_A_TIME, encoding="utf-8")
            node.chmod(0o755)
            ran = subprocess.run(
                [pathlib.Path(BUILD) / "bench" / "redlock-bench", "contend", "--node-count", "1",
                 "--hold", "0", "--seconds", "0.3", "--warmup", "0.1", "--case", "node-redlock",
                 "--node-redlock", folder],
                env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True,
                text=True, check=False)
            self.assertIn("EXCLUSION VIOLATED", ran.stdout, ran.stderr)
            self.assertEqual(ran.returncode, 1)


class Instructions(unittest.TestCase):
    program = runpy.run_path(str(BENCH / "instructions"))
    versions = {"compiler": "gcc"}

    def check(self, record, versions=None, **counted):
        record = {"versions": self.versions, "instructions_per_cycle": record}
        self.program["check"]({name: {"core": total - 1, "resp": 1} for name, total in counted.items()},
                              versions or self.versions, record)

    def test_five_percent_more_than_on_record_pass(self):
        self.check({"callback": 10_000}, callback=10_500)
        with self.assertRaisesRegex(Trouble, "more instructions than on record: callback"):
            self.check({"callback": 10_000}, callback=10_501)

    def test_other_versions_are_not_compared_which_a_line_says(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.check({"callback": 10_000}, {"compiler": "another"}, callback=14_000)
        self.assertRegex(said.getvalue(), r"(?m)^NOT COMPARED: the record is of .*another")

    def test_what_is_not_on_record_fails(self):
        with self.assertRaisesRegex(Trouble, "not on record: fencing;"):
            self.check({"callback": 10_000}, callback=10_000, fencing=1)
        self.check({}, **{"callback, 1 in flight": 30_000})

    def test_the_ceiling_does_not_depend_on_versions(self):
        other = {"compiler": "another"}
        self.check({"callback": 10_000}, other, callback=15_000)
        with self.assertRaisesRegex(Trouble, "callback: 15 001 instructions a cycle"):
            self.check({"callback": 15_001}, other, callback=15_001)


class Started(unittest.TestCase):
    def test_a_master_whose_port_was_taken_gets_another(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            taken = other.getsockname()[1]
            ports = [taken, free_port(), free_port(), free_port()]
            with unittest.mock.patch("harness.masters.free_port", side_effect=ports):
                started = Masters(1, "redis-server")
            self.addCleanup(started.end)
            self.assertEqual([started.all[0].port, started.all[0].tls_port], ports[2:])


class Running(unittest.TestCase):
    def test_a_quick_run_is_answered_in_full(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            asked = ["--only", "styles,startup", "--out", folder]
            ran = run("--quick", *asked)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.check_answer(out)
            self.check_versions(out)
            table = (out / "styles.md").read_text(encoding="utf-8")
            self.assertIn("| callback | 64 |", table)
            # The JSON has all figures.
            (out / "styles.md").unlink()
            self.assertEqual(run("--render", *asked).returncode, 0)
            self.assertEqual((out / "styles.md").read_text(encoding="utf-8"), table)

    def check_answer(self, out):
        told = json.loads((out / "styles.json").read_text(encoding="utf-8"))
        self.assertEqual((told["schema"], told["question"], told["rounds"]), (1, "styles", 1))
        for version in ["compiler", "boost", "redlock", "server"]:
            self.assertIn(version, told["versions"])
        self.assertEqual([c["name"] for c in told["cases"]], ["callback", "await", "strand"])
        for case in told["cases"]:
            figures = case["figures"]
            for key in ["cycles_per_second", "client_cpu_us_per_cycle", "server_cpu_us_per_cycle",
                        "bytes_per_cycle"]:
                self.assertGreater(figures[key]["median"], 0, key)
                self.assertIn("ratio", figures[key])
            # Five SETs of some hundred bytes each, five releases in batches, and their answers.
            self.assertTrue(700 < figures["bytes_per_cycle"]["median"] < 2500, figures)
            self.assertNotIn("127.0.0.1", case["command"])
        self.assertEqual(told["cases"][0]["figures"]["cycles_per_second"]["ratio"]["median"], 1)
        if plots.is_there():
            drawn = xml.etree.ElementTree.parse(out / "styles.svg")
            self.assertIn("Throughput", "".join(drawn.getroot().itertext()))

    def check_versions(self, out):
        for name, speaks_tls in [("styles", False), ("startup", True)]:
            versions = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))["versions"]
            self.assertEqual("openssl" in versions, speaks_tls, versions)

    def test_what_makes_no_sense_is_refused(self):
        for arguments, status, words in [
                (["--only", "nothing"], 2, "no question 'nothing'; there are: "),
                (["--rounds", "0"], 2, "--rounds must be at least 1"),
                (["--quick", "--server", "no-such-server"], 1, "no no-such-server here"),
                (["--quick", "--build", "/nowhere"], 1, "no redlock-bench in /nowhere/bench")]:
            self.check_refused(arguments, status, words)
        with tempfile.TemporaryDirectory() as folder:
            self.check_refused(["--render", "--only", "styles", "--out", folder], 1,
                               f"no {folder}/styles.json")

    def check_refused(self, arguments, status, words):
        ran = run(*arguments)
        self.assertEqual(ran.returncode, status, ran.stderr)
        self.assertIn(words, ran.stderr)
        self.assertNotIn("Traceback", ran.stderr)


unittest.main()
