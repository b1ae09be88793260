"""usage: harness_test.py <build folder>
What bench/run counts, writes and refuses."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH))

from harness import page, plots  # noqa: E402
from harness.measure import Answer  # noqa: E402
from questions import all_questions, masters, styles  # noqa: E402

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
        result = Answer(masters.QUESTION)
        for count in masters.MASTERS:
            result.add("callback", {"in_flight": 64, "masters": count}, {
                "client_cpu_us_per_cycle": 1 + 0.5 * count,
                "server_cpu_us_per_cycle": 3 * count}, "")
        masters.conclude(result)
        last = result.told()[-1]["figures"]
        self.assertAlmostEqual(last["slope_client_us"]["median"], 0.5)
        self.assertAlmostEqual(last["slope_servers_us"]["median"], 3)


class Page(unittest.TestCase):
    def test_only_the_block_of_the_question_is_replaced(self):
        mine, other = styles.QUESTION, masters.QUESTION
        block = f"{page.begin_of(other.name)}\nkept\n{page.end_of(other.name)}"
        old = f"before\n\n{page.begin_of(mine.name)}\nold\n{page.end_of(mine.name)}\n\nafter\n{block}\n"
        new = page.put(old, mine, "new\\1")
        self.assertEqual(new, f"before\n\nnew\\1\n\nafter\n{block}\n")

    def test_what_has_no_place_yet_goes_to_the_end(self):
        self.assertEqual(page.put("before\n", styles.QUESTION, "new"),
                         f"before\n\n## {styles.QUESTION.title}\n\nnew\n")


class Questions(unittest.TestCase):
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
        self.assertLess(sum(seconds), 590)


class Running(unittest.TestCase):
    def test_a_quick_run_is_answered_in_full(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            asked = ["--only", "styles,startup", "--out", folder]
            ran = run("--quick", *asked)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.check_answer(out)
            table = (out / "tables.md").read_text(encoding="utf-8")
            self.assertIn("| callback | 64 |", table)
            # All of it is in the JSON.
            (out / "tables.md").unlink()
            self.assertEqual(run("--render", *asked).returncode, 0)
            self.assertEqual((out / "tables.md").read_text(encoding="utf-8"), table)

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
            # Five SETs and five releases, of some hundred bytes each, and their answers.
            self.assertTrue(1000 < figures["bytes_per_cycle"]["median"] < 2500, figures)
            self.assertNotIn("127.0.0.1", case["command"])
        self.assertEqual(told["cases"][0]["figures"]["cycles_per_second"]["ratio"]["median"], 1)
        if plots.is_there():
            drawn = xml.etree.ElementTree.parse(out / "styles.svg")
            self.assertIn("Throughput", "".join(drawn.getroot().itertext()))

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
