"""usage: links.py <root of the source tree>
What the pages link to within the tree is there, and so are the headings that they name. Asks no network.
"""

import collections
import functools
import os
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()


def lines_of(page):
    """The lines that are not code."""
    in_code = False
    for line in page.read_text("utf-8").splitlines():
        if re.match(r" *```", line):
            in_code = not in_code
        elif not in_code:
            yield line


@functools.cache
def anchors(page):
    """The names that GitHub gives to the headings of a page."""
    seen, found = collections.Counter(), set()
    for line in lines_of(page):
        if heading := re.match(r"#+ +(.*)", line):
            title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1])
            name = re.sub(r"[^\w -]", "", title).replace(" ", "-").lower()
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return found


def pages():
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in (".git", "node_modules") and not f.startswith("build")]
        yield from (pathlib.Path(folder) / f for f in files if f.endswith(".md"))


faults, checked = [], 0
for page in sorted(pages()):
    for line in lines_of(page):
        if line.startswith("    "):
            continue
        for link in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match("https?://|mailto:", link):
                continue
            checked += 1
            path, _, heading = link.partition("#")
            target = page.parent / path if path else page
            name = page.relative_to(root)
            if not target.exists():
                faults.append(f"{name}: {link} is not there")
            elif heading and (target.suffix != ".md" or heading not in anchors(target.resolve())):
                faults.append(f"{name}: {link}: no such heading")
if checked < 50:
    faults.append(f"only {checked} links were found: are they looked for where they are?")
print("\n".join(faults) or f"{checked} links")
sys.exit(bool(faults))
