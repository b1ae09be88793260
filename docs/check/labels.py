"""usage: labels.py <root of the source tree> <build folder> <ctest> <1 with the full tests, else 0>
Compares the labels of ctest with the table in CONTRIBUTING.md. Each label must be in both. The column `test` must say how many
tests of a label are in every change. The column `asan` must say which tests the filters of the test presets asan and asan-full
take. Compares the table of checks with the lists of .ci/run, and what both tables say of seeds and of the labels of the checks
`shared` and `tsan` with the presets.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
NUMBERS = {word: number for number, word in enumerate(WORDS, 1)}
root, build, ctest, full = sys.argv[1:]
page = (pathlib.Path(root) / "CONTRIBUTING.md").read_text("utf-8")
table = page.partition("\n| label |")[2].partition("\n\n")[0]
documented, expected, left_out, column, counts = set(), set(), set(), [], []
for names, what, when, sanitized in re.findall(r"^\| (`.*?) \| (.*?) \| .*? \| (.*?) \| (.*?) \|$", table, re.MULTILINE):
    labels = set(re.findall(r"`(\w+)`", names))
    column += [(label, sanitized) for label in sorted(labels)]
    # A label of some tests of the row is between parentheses.
    documented |= labels | set(re.findall(r"\(`(\w+)`\)", what))
    if full != "1":
        left_out |= labels if when == "full" else set()
        # "three, full all" counts the label of the row, and "four `label`; full ..." that label.
        counts += [(label, NUMBERS[number]) for number in re.findall(r"^(\w+), full all$", when) for label in labels]
        counts += [(label, NUMBERS[number]) for number, label in re.findall(r"\b(\w+) `(\w+)`; full", when)]
    if when != "full" and not when.startswith("check ") or when == "full" and full == "1":
        expected |= labels

# In a folder of its own, because ctest would overwrite the log of the ctest that runs this test.
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(f'subdirs("{build}")\n', "utf-8")
    said = subprocess.run([ctest, "--test-dir", folder, "--show-only=json-v1"], check=True, capture_output=True).stdout
all_presets = json.loads((pathlib.Path(root) / "CMakePresets.json").read_text("utf-8"))
presets = {p["name"]: p for p in all_presets["testPresets"]}
configure_presets = {p["name"]: p for p in all_presets["configurePresets"]}


def takes(preset, labels):
    """Whether ctest runs a test with these labels."""
    wanted = presets[preset]["filter"]
    left_out = wanted.get("exclude", {}).get("label", "^$")
    return (any(re.search(wanted["include"]["label"], label) for label in labels)
            and not any(re.search(left_out, label) for label in labels))


def column_is_wrong(sanitized, tests):
    """Whether the presets take other tests than this text of the column says. Each test is a set of labels."""
    without = re.findall(r"without `(\w+)`", sanitized)
    taken = {preset: [takes(preset, labels) for labels in tests] for preset in ("asan", "asan-full")}
    if sanitized in ("never", "`tsan`"):
        in_tsan = [takes("tsan", labels) for labels in tests]
        return any(taken["asan"] + taken["asan-full"]) or (not all(in_tsan) if sanitized == "`tsan`" else any(in_tsan))
    if sanitized == "one":
        return sum(taken["asan"]) != 1 or sum(taken["asan-full"]) != 1
    if sanitized == "full":
        return any(taken["asan"]) or not all(taken["asan-full"])
    return taken["asan"] != [not labels & set(without) for labels in tests] or not all(taken["asan-full"])


checks = {name: cells for name, *cells in re.findall(
    r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", page.partition("\n| check |")[2].partition("\n\n")[0], re.MULTILINE)}


def check_faults():
    """Where the table of checks differs from .ci/run, and from the labels that the presets of a check take."""
    script = (pathlib.Path(root) / ".ci" / "run").read_text("utf-8")
    lists = [re.search(rf"^{name}=\((.*)\)$", script, re.MULTILINE)[1] for name in ("every_change", "full")]
    in_every_change, in_full = (set(re.findall(r"\b[a-z]+\b(?!\[)", text)) - {"every_change"} for text in lists)
    in_full |= in_every_change
    in_table = {name for name, (every_change, _) in checks.items() if every_change != "-"}
    faults = [f".ci/run and the table of checks differ in every change: {name}" for name in sorted(in_every_change ^ in_table)]
    faults += [f".ci/run and the table of checks differ in full: {name}" for name in sorted(in_full ^ set(checks))]
    if faults:
        return faults
    first, added = ({name: set(re.findall(r"`(\w+)`", cells[at])) for name, cells in checks.items()} for at in (0, 1))
    # The check shared of every change takes a part of its preset.
    taken = {"shared": first["shared"] | added["shared"], "tsan": first["tsan"], "tsan-full": first["tsan"] | added["tsan"]}
    for preset, labels in taken.items():
        if (filtered := set(re.findall(r"\w+", presets[preset]["filter"]["include"]["label"]))) != labels:
            faults.append(f"the table of checks and the preset {preset} differ in the labels {sorted(filtered ^ labels)}")
    if set(re.findall(r"--preset shared -L '\^(\w+)\$'", script)) != first["shared"]:
        faults.append(f"the table of checks says {sorted(first['shared'])} of shared; .ci/run takes another label")
    return faults


def seeds_of(preset):
    """REDLOCK_SIM_SEEDS of a configure preset, or of the one that it inherits."""
    own = configure_presets[preset]
    return int(own["cacheVariables"].get("REDLOCK_SIM_SEEDS") or seeds_of(own["inherits"]))


def seed_faults():
    """Where the page says another number of seeds than the presets."""
    said = re.findall(r"^\| `(sim|client_sim)` .* (\d+) seeds\b.*?full (\d+)\b.* (\d+) seeds\b.*?full (\d+)\b", table, re.MULTILINE)
    documented = [(label, preset, int(number)) for label, *numbers in said
                  for preset, number in zip(("test", "full", "asan", "asan-full"), numbers)]
    documented += [("sim", preset, int(number)) for check, preset in (("test", "full"), ("shared", "shared"))
                   for number in re.findall(r"(\d+) seeds", checks[check][1])]
    if len(documented) != 10:
        return ["CONTRIBUTING.md no longer says how many seeds the presets test, full, asan, asan-full and shared play"]
    faults = []
    for label, preset, number in documented:
        # The client simulation plays a tenth, and 200 at least (play_test.cpp).
        planned = seeds_of(preset) if label == "sim" else max(200, seeds_of(preset) // 10)
        if number != planned:
            faults.append(f"CONTRIBUTING.md says {number} seeds of {label} for the preset {preset}, which plays {planned}")
    return faults


faults, found, tests = [], set(), []
for test in json.loads(said)["tests"]:
    labels = {label for p in test.get("properties", []) if p["name"] == "LABELS" for label in p["value"]}
    found |= labels
    tests.append(labels)
    if not labels:
        faults.append(f"a test without a label: {test['name']}")
faults += [f"CONTRIBUTING.md lacks the label {label}" for label in sorted(found - documented)]
faults += [f"no test has the label {label} of CONTRIBUTING.md" for label in sorted(expected - found)]
faults += [f"the column test says full of {label}, which every change has" for label in sorted(found & left_out)]
if full != "1" and len(counts) < 3:
    faults.append("the column test of CONTRIBUTING.md no longer says how many tests of a label are in every change")
for label, number in counts:
    if (count := sum(label in labels for labels in tests)) != number:
        faults.append(f"the column test says {number} of {label}; every change has {count}")
for label, sanitized in column:
    of_label = [labels for labels in tests if label in labels]
    if of_label and column_is_wrong(sanitized, of_label):
        faults.append(f"the column asan says of {label}: {sanitized}; the presets asan and asan-full take other tests")
faults += check_faults() + seed_faults()
print("\n".join(faults) or f"{len(found)} labels")
sys.exit(bool(faults))
