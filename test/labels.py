"""usage: labels.py <root of the source tree> <build folder> <ctest> <1 with the full tests, else 0>
Compares the labels of ctest with the table in CONTRIBUTING.md. Each label must be in both.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

root, build, ctest, full = sys.argv[1:]
page = (pathlib.Path(root) / "CONTRIBUTING.md").read_text("utf-8")
table = page.partition("\n| label |")[2].partition("\n\n")[0]
documented, expected = set(), set()
for names, what, when in re.findall(r"^\| (`.*?) \| (.*?) \| .*? \| (.*?) \| .*? \|$", table, re.MULTILINE):
    labels = set(re.findall(r"`(\w+)`", names))
    # A label of some tests of the row is between parentheses.
    documented |= labels | set(re.findall(r"\(`(\w+)`\)", what))
    if when == "full" and full != "1" or when.startswith("check "):
        continue
    expected |= labels

# In a folder of its own, because ctest would overwrite the log of the ctest that runs this test.
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(f'subdirs("{build}")\n', "utf-8")
    said = subprocess.run([ctest, "--test-dir", folder, "--show-only=json-v1"], check=True, capture_output=True).stdout
faults, found = [], set()
for test in json.loads(said)["tests"]:
    labels = {label for p in test.get("properties", []) if p["name"] == "LABELS" for label in p["value"]}
    found |= labels
    if not labels:
        faults.append(f"a test without a label: {test['name']}")
faults += [f"CONTRIBUTING.md lacks the label {label}" for label in sorted(found - documented)]
faults += [f"no test has the label {label} of CONTRIBUTING.md" for label in sorted(expected - found)]
print("\n".join(faults) or f"{len(found)} labels")
sys.exit(bool(faults))
