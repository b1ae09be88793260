"""Tables of the pages, between markers that name the question."""

import re
import textwrap

from harness.figures import FIGURES, grouped, shown
from harness.trouble import Trouble


def begin_of(name):
    return f"<!-- question: {name} -->"


def end_of(name):
    return f"<!-- end of question: {name} -->"


def cell(column, case):
    found = case["figures"].get(column.figure)
    if found is None:
        return "-"
    if not column.ratio:
        return shown(column.figure, found["median"])
    if "ratio" not in found:
        return "-"
    ratio = found["ratio"]
    if ratio["least"] == ratio["most"]:
        return f"{ratio['median']:.2f}"
    return f"{ratio['median']:.2f} ({ratio['least']:.2f} to {ratio['most']:.2f})"


def title(column):
    known = FIGURES[column.figure].title
    return f"{known}: ratio" if column.ratio else known


def parameter(value):
    return grouped(value, 0) if isinstance(value, (int, float)) else str(value)


def table(question, told):
    # A column that is empty in every case is left out.
    columns = [c for c in question.columns
               if any(cell(c, case) != "-" for case in told["cases"])]
    names = question.parameters
    head = ["", *names.values(), *(title(c) for c in columns)]
    lines = [head, ["---", *("---:" for _ in head[1:])]]
    for case in told["cases"]:
        lines.append([case["name"], *(parameter(case["parameters"].get(n, "")) for n in names),
                      *(cell(c, case) for c in columns)])
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


def bound(target):
    words, value = ("at least", target["least"]) if "least" in target else ("at most", target["most"])
    return f"{words} {grouped(value, 0) if value >= 1000 else f'{value:g}'}"


def measured(target):
    """Formats the measured figure, with enough digits to distinguish it from its bound."""
    value = target["measured"]
    if value is None:
        return "-"
    return grouped(value, 0) if abs(value) >= 1000 else f"{value:.4g}"


def targets(told):
    verdicts = {True: "yes", False: "**no**", None: "-"}
    lines = ["| target | measured | met |", "|---|---:|---|"]
    lines += [f"| {t['text']}: {bound(t)} | {measured(t)} | {verdicts[t['met']]} |"
              for t in told["targets"]]
    return "\n".join(lines)


def provenance(told):
    versions = ", ".join(f"{name} {version}".replace("server ", "")
                         for name, version in sorted(told["versions"].items()))
    machine = told["machine"]
    plain = "" if told["clean"] else ", with uncommitted changes"
    return (f"Measured on {told['date']} at commit {told['commit']}{plain}, with "
            f"{machine['processors']} processors ({machine['model']}), {machine['system']}; "
            f"{versions}. Rounds: {told['rounds']} at most.")


def wrapped(text):
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def block(question, told, picture):
    parts = [begin_of(question.name), f"    ./bench/run --only {question.name}",
             wrapped(question.about),
             table(question, told)]
    if told["targets"]:
        parts.append(targets(told))
    if picture is not None:
        parts.append(f"![{question.title}]({picture})")
    parts += [wrapped(provenance(told)), end_of(question.name)]
    return "\n\n".join(parts)


def put(text, question, new):
    """Returns the page with the new block instead of the old one. An empty text becomes a page."""
    found = re.compile(
        re.escape(begin_of(question.name)) + ".*?" + re.escape(end_of(question.name)), re.DOTALL)
    if found.search(text):
        return found.sub(lambda _: new, text)
    if text:
        raise Trouble(f"the page of {question.name} has no {begin_of(question.name)}")
    return f"# {question.title}\n\n{new}\n"
