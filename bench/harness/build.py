"""Builds the programs that are measured."""

import os
import subprocess
import sys

from harness.trouble import Trouble


def release(root, targets):
    """Installs what is missing, builds the targets in build/release, and returns that folder."""
    jobs = os.environ.get("JOBS") or str(os.cpu_count())
    steps = [[root / ".ci" / "setup", "bench"], ["cmake", "--preset", "release"],
             ["cmake", "--build", "--preset", "release", "--parallel", jobs, "--target", *targets]]
    print("Building in build/release ...", file=sys.stderr)
    for step in steps:
        ran = subprocess.run(step, cwd=root, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise Trouble(f"{step[0]} fails:\n{ran.stdout[-4000:]}{ran.stderr[-4000:]}")
    return root / "build" / "release"
