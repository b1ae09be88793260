"""Pictures of the answers, by gnuplot."""

import math
import shutil
import subprocess

from harness.figures import grouped
from harness.trouble import Trouble

# The palette of Okabe and Ito, which colour-blind readers can distinguish.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#f0e442"]
# Each name has the same colour in all pictures.
OWN = {name: COLOURS[i] for i, name in enumerate(
    ["callback", "floor-asio", "floor-epoll", "node-redlock", "hiredis", "await", "strand",
     "boost-redis"])}
WIDTH, HEIGHT = 480, 360

# From the least to the most.
SPREAD = "with vectors nohead linewidth 1.2"

STYLE = """set encoding utf8
set border 3 linecolor rgb '#888888'
set tics nomirror textcolor rgb '#333333'
set grid ytics linetype 1 linecolor rgb '#e6e6e6'
set lmargin 9
set rmargin 3
set style fill solid 0.85 noborder
set key outside center top horizontal samplen 1.5 width 1 textcolor rgb '#333333'
"""


def is_there():
    return shutil.which("gnuplot") is not None


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def value_of(panel, case):
    found = case["figures"].get(panel.figure)
    if found is None:
        return None
    return found.get("ratio") if panel.ratio else found


def rows_of(panel, cases):
    return [(case, value_of(panel, case)) for case in cases
            if panel.only(case) and value_of(panel, case) is not None]


def colour(names, name):
    return OWN.get(name, COLOURS[names.index(name) % len(COLOURS)])


def lines(panel, cases):
    """Draws a line for each name over a parameter, with bars from the least to the greatest."""
    series, places = {}, set()
    for case, value in rows_of(panel, cases):
        x = case["parameters"].get(panel.x)
        if x is not None:
            places.add(x)
            series.setdefault(case["name"], []).append((x, value))
    data, parts = [], []
    for i, (name, points) in enumerate(series.items()):
        points.sort(key=lambda point: point[0])
        inside = "\n".join(f"{x} {v['median']:.6g} {v['least']:.6g} {v['most']:.6g}" for x, v in points)
        data.append(f"$d{i} << EOD\n{inside}\nEOD")
        look = f"linecolor rgb '{colour(list(series), name)}'"
        parts.append(f"$d{i} using 1:3:(0):($4-$3) {SPREAD} {look} notitle")
        parts.append(f"$d{i} using 1:2 with linespoints linewidth 2.5 pointtype 7 pointsize 0.6 "
                     f"{look} title {quoted(name)}")
    tics = ", ".join(f"{quoted(grouped(x, 0))} {x}" for x in sorted(places))
    least, most = min(places), max(places)
    if panel.log_x:
        scale = f"set logscale x\nset xrange [{least / 1.6:g}:{most * 1.6:g}]"
    else:
        room = (most - least) * 0.08 or 1
        scale = f"set xrange [{least - room:g}:{most + room:g}]"
    return f"set xtics ({tics})\n{scale}\n", data, parts


def bars(panel, cases, titles):
    """Draws a bar for each case, one below the other. All bars of a name have one colour."""
    rows = rows_of(panel, cases)
    names = list(dict.fromkeys(case["name"] for case, _ in rows))
    inside, labels = [], []
    for i, (case, value) in enumerate(rows):
        look = colour(names, case["name"]).replace("#", "0x")
        inside.append(f"{value['median']:.6g} {value['least']:.6g} {value['most']:.6g} {i} {look}")
        words = [spoken(case["parameters"][p], titles[p]) for p in panel.by]
        labels.append(", ".join(words if words and len(names) == 1 else [case["name"], *words]))
    tics = ", ".join(f"{quoted(label)} {i}" for i, label in enumerate(labels))
    setting = (f"set ytics ({tics}) scale 0\nset yrange [{len(rows) - 0.4}:-0.6]\n"
               f"set xtics 0,{step(max(value['most'] for _, value in rows)):g}\n"
               "unset grid\nset grid xtics linetype 1 linecolor rgb '#e6e6e6'\nunset key\n"
               f"set lmargin {2 + max(map(len, labels))}\n")
    data = "$d0 << EOD\n" + "\n".join(inside) + "\nEOD"
    return setting, [data], [
        "$d0 using 1:4:(0):1:($4-0.31):($4+0.31):5 with boxxyerror linecolor rgb variable notitle",
        f"$d0 using 2:4:($3-$2):(0) {SPREAD} linecolor rgb '#222222' notitle"]


def spoken(value, title):
    if not isinstance(value, int):
        return value
    return f"{grouped(value, 0)} {title.removesuffix('s') if value == 1 else title}"


def step(most):
    """Returns the step of the tics: 1, 2 or 5 of a power of ten, for six tics at most."""
    power = 10 ** math.floor(math.log10(most / 5)) if most > 0 else 1
    return next(n * power for n in (1, 2, 5, 10) if n * power * 5 >= most or n == 10)


def draw(panel, cases, titles):
    is_bars = panel.x is None
    setting, data, parts = bars(panel, cases, titles) if is_bars else lines(panel, cases)
    most = max(value["most"] for _, value in rows_of(panel, cases))
    values = "x" if is_bars else "y"
    script = ["reset", STYLE, *data, setting,
              f"set title {quoted(panel.title)} font ',13' textcolor rgb '#111111'",
              f"set xlabel {quoted(panel.x_title)} textcolor rgb '#333333'",
              f"set format {values} '{'%.0s %c' if most >= 10_000 else '%g'}'",
              "set logscale y" if panel.log_y else f"set {values}range [0:*]",
              "plot " + ", \\\n    ".join(parts)]
    return "\n".join(script)


def picture(question, told, file):
    """Writes an SVG with the panels side by side. Returns False if there is nothing to show."""
    panels = [p for p in question.panels if rows_of(p, told["cases"])]
    if not panels:
        return False
    head = [f"set terminal svg size {WIDTH * len(panels)},{HEIGHT} font 'Helvetica,11' "
            "background '#ffffff'",
            f"set output {quoted(file)}", f"set multiplot layout 1,{len(panels)}"]
    script = "\n".join([*head, *(draw(p, told["cases"], question.parameters) for p in panels), "unset multiplot"])
    ran = subprocess.run(["gnuplot"], input=script, text=True, capture_output=True, check=False)
    if ran.returncode != 0 or not file.is_file():
        raise Trouble(f"gnuplot draws nothing for {question.name}: {ran.stderr.strip()}")
    return True
