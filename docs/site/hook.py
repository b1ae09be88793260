"""Stages the pages of the tree for MkDocs, and adds pages of the headers, of the command and of linked sources."""
import posixpath
import re
import shutil
import xml.etree.ElementTree as xml
from pathlib import Path

from mkdocs.exceptions import PluginError

CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
REFERENCE = "docs/reference"
FENCE = "```"
reference = None  # what Doxygen knows, for the pages as they are rendered


def outside_code(text, change):
    return "".join(part if i % 2 else change(part) for i, part in enumerate(CODE.split(text)))


def with_plain_bars(text):
    """The text without the backslash that GitHub wants before a bar in a table's code, and that Python-Markdown shows."""
    return re.sub(r"^\|.*$", lambda row: re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), row[0]), text,
                  flags=re.MULTILINE)


# --- Doxygen's XML as Markdown ---

class Reference:
    """The pages of the public classes, and one page a namespace for its other members."""

    def __init__(self, folder):
        self.url = {}      # the page, with an anchor, of each id of Doxygen
        self.named = {}    # the same of each qualified name
        self.pages = {}
        compounds = []
        for entry in xml.parse(folder / "index.xml").iter("compound"):
            name = entry.findtext("name").replace("< ", "<").replace(" >", ">")
            if entry.get("kind") in ("class", "struct", "namespace") and re.match("redlock(?!::detail)", name):
                compound = xml.parse(folder / f"{entry.get('refid')}.xml").find("compounddef")
                compounds.append((name, compound, self.members(compound)))
        for name, compound, members in compounds:
            page = re.sub(r"\W+", "_", name.removeprefix("redlock::")).strip("_") + ".md"
            self.url[compound.get("id")] = self.named[name] = page
            for member in members:
                anchor = f"{page}#{self.anchor(member)}"
                self.named.setdefault(member.findtext("qualifiedname"), anchor)
                for part in member.iter():
                    if part.get("id"):
                        self.url[part.get("id")] = anchor
        for name, compound, members in compounds:
            self.pages[self.named[name]] = (name, self.page(name, compound, members))

    @staticmethod
    def members(compound):
        return [member for member in compound.iter("memberdef")
                if member.get("prot") == "public" and member.get("kind") != "friend" and
                any(text.strip() for d in ("brief", "detailed") for text in member.find(d + "description").itertext())]

    @staticmethod
    def anchor(member):
        name = member.findtext("name")
        return name if name.isidentifier() else member.get("id")[-8:]

    def page(self, name, compound, members):
        title = "Namespace redlock" if name == "redlock" else name.replace("<", "&lt;")
        header = compound.findtext("includes")
        out = f"# {title}\n\n" + (f"{FENCE}cpp\n#include <{header}>\n{FENCE}\n\n" if header else "")
        out += self.described(compound)
        for inner in compound.findall("innerclass") if compound.get("kind") == "namespace" else ():
            if "::detail" not in inner.text:
                out += f"- {self.linked(escaped(inner.text), inner)}\n"
        out += "\n"
        previous = None
        for member in members:
            anchor = self.anchor(member)
            if anchor != previous:
                out += f"## {member.findtext('name').replace('<', '&lt;')} {{ #{anchor} }}\n\n"
            previous = anchor
            out += f"{FENCE}cpp\n{declaration(member)}\n{FENCE}\n\n" + self.described(member)
            for value in member.findall("enumvalue"):
                out += f"`{value.findtext('name')}`\n:   {indented(self.described(value).strip())}\n\n"
        return out

    def described(self, element):
        return "".join(self.text(element.find(d + "description")).strip() + "\n\n" for d in ("brief", "detailed"))

    def text(self, element):
        return escaped(element.text) + "".join(self.part(child) + escaped(child.tail) for child in element)

    def part(self, element):
        tag = element.tag
        if tag == "ref":
            return self.linked(self.text(element), element)
        if tag == "computeroutput":
            code = f"`{''.join(element.itertext())}`"
            return self.linked(code, element[0]) if len(element) else code
        if tag == "emphasis":
            return f"*{self.text(element)}*"
        if tag == "ulink":
            return f"[{self.text(element)}]({element.get('url')})"
        if tag == "para":
            return self.text(element).strip() + "\n\n"
        if tag == "itemizedlist":
            return "\n\n" + "".join(f"-   {indented(self.text(item).strip())}\n" for item in element) + "\n"
        if tag == "simplesect":
            return f"\n\n**{self.text(element.find('title'))}:** {self.text(element.find('para')).strip()}\n\n"
        if tag == "parameteritem":
            names = ", ".join(f"`{name.text}`" for name in element.iter("parametername"))
            return f"\n\n**Throws:** {names} {self.text(element.find('parameterdescription')).strip()}\n\n"
        if tag == "parameterlist" and element.get("kind") == "exception":
            return "".join(self.part(item) for item in element)
        if tag == "verbatim":
            return f"\n\n{FENCE}cpp\n{element.text.strip()}\n{FENCE}\n\n"
        raise PluginError(f"the reference has <{tag}>, which docs/site/hook.py does not know")

    def linked(self, text, ref):
        url = self.url.get(ref.get("refid"))
        return f"[{text}]({url})" if url else text


def escaped(text):
    return re.sub(r"([\\`*_\[\]])", r"\\\1", text or "").replace("<", "&lt;")


def indented(text):
    return text.replace("\n", "\n    ")


def plain(element):
    """A type as C++ code; Doxygen sets spaces within its brackets."""
    text = "" if element is None else "".join(element.itertext())
    return re.sub(r" (?=[>&*])", "", text.replace("< ", "<")).strip()


def declaration(member):
    kind, name, result = member.get("kind"), member.findtext("name"), plain(member.find("type"))
    if kind == "typedef":
        return f"using {name} = {result};"
    if kind == "enum":
        return f"enum class {name};"
    if kind == "variable":
        return f"{result} {name}{re.sub('^=', ' =', member.findtext('initializer') or '')};"

    def parameters(parent):
        for one in () if parent is None else parent.findall("param"):
            declared = f"{plain(one.find('type'))} {one.findtext('declname') or ''}".strip()
            yield " = ".join(filter(None, (declared, plain(one.find("defval")))))

    def fitting(before, parts, after):
        line = before + ", ".join(parts) + after
        return line if len(line) <= 80 else before + "\n    " + ",\n    ".join(parts) + after

    template = list(parameters(member.find("templateparamlist")))
    ending = plain(member.find("argsstring")).rpartition(")")[2].replace("=", " = ")
    head = f"{'explicit ' * (member.get('explicit') == 'yes')}{result} {name}".strip()
    function = fitting(head + "(", list(parameters(member)), f"){ending};")
    return (fitting("template <", template, ">\n") if template else "") + function


# --- Manual pages as Markdown ---

def manual(path):
    """The page of one command. What all commands have in common is only in the page of `redlock` itself."""
    roff = path.read_text().replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")
    parts = re.split(r"^\.SH (.*)\n", roff, flags=re.MULTILINE)
    name, _, purpose = parts[2].strip().partition(" - ")
    out = f"## {name.replace('-', ' ')} {{ #{name} }}\n\n{purpose}.\n\n"
    for title, body in zip(parts[3::2], parts[4::2]):
        if name != "redlock" and re.match("OPTIONS OF|EXIT|SEE", title):
            continue
        if title == "DESCRIPTION":
            body = body.partition("\n")[2]
        elif title != "SYNOPSIS":
            out += f"### {title.capitalize()} {{ #{name}-{title.lower().replace(' ', '-')} }}\n\n"
        body = re.sub(r"^\.TP\n\.BR? (.*?)(?: \(1\))?\n(.*)$", lambda m: f"`{m[1]}`\n:   {escaped(m[2])}\n", body,
                      flags=re.MULTILINE)
        body = re.sub(r"^\.nf\n(.*?)\n*^\.fi$|^\.B ([^\n]*)$", rf"\n{FENCE}text\n\1\2\n{FENCE}\n", body.strip(),
                      flags=re.MULTILINE | re.DOTALL)
        out += body.replace(".PP\n", "\n") + "\n\n"
    return out


# --- Staging ---

def source_page(path, name):
    if path.is_dir():
        listed = "".join(f"- `{file.name}`\n" for file in sorted(path.iterdir()))
        return f"# `{name}`\n\n{listed}"
    language = "cpp" if path.suffix in (".cpp", ".hpp") else "text"
    return f"# `{name}`\n\n{FENCE}{language}\n{path.read_text().rstrip()}\n{FENCE}\n"


def leaves(nav):
    for entry in nav:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(value, list):
            yield from leaves(value)
        else:
            yield value


def on_config(config):
    tree, manuals = Path(config["extra"]["tree"]), Path(config["extra"]["manual"])
    staged = Path(config["docs_dir"])
    shutil.rmtree(staged)
    staged.mkdir()

    def write(name, text):
        (staged / name).parent.mkdir(parents=True, exist_ok=True)
        (staged / name).write_text(text)

    global reference
    reference = Reference(Path(config["extra"]["reference"]))
    pages = [*tree.glob("*.md")]
    for folder in ("bench", "docs", "include", "lib", "test"):
        pages += (page for page in (tree / folder).rglob("*.md") if "node_modules" not in page.parts)

    def stage(page):
        name = page.relative_to(tree).as_posix()

        def link(match):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[1]))
            if match[1].endswith(".md") or ":" in match[1]:
                return match[0]
            if match[1].endswith(".svg"):
                (staged / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(tree / target, staged / target)
                return match[0]
            write(target + ".md", source_page(tree / target, target))
            return f"]({match[1].rstrip('/')}.md"

        def symbol(match):
            if match[0] not in reference.named:
                raise PluginError(f"{name}: {match[0]} is not in the headers")
            return f"[`{match[0]}`](reference/{reference.named[match[0]]})"

        def change(text):
            text = re.sub(r"\]\(([^)#\s]+)", link, text)
            # Where Python-Markdown wants other white space than GitHub: in lists in lists, after comments.
            text = re.sub(r"^ {2,3}(?=[-*] )", "    ", text, flags=re.MULTILINE)
            text = re.sub(r"^(<!--.*-->)$", r"\1\n", text, flags=re.MULTILINE)
            return re.sub(r"redlock::\w+(?:::\w+)*", symbol, text) if name == REFERENCE + ".md" else text

        write(name, with_plain_bars(outside_code(page.read_text(), change)))
        return name

    missing = {stage(page) for page in pages} - set(leaves(config["nav"]))
    if missing:
        raise PluginError(f"not in the nav of docs/site/mkdocs.yml.in: {', '.join(sorted(missing))}")

    shutil.copy(Path(__file__).with_name("style.css"), staged)
    write(f"{REFERENCE}/command.md", "# The command\n\n" + "\n".join(
        manual(page) for page in sorted(manuals.glob("*.1"), key=lambda page: page.stem)))
    listed = next(entry for section in config["nav"] for entry in next(iter(section.values())) if "Interface" in entry)
    nested = {page: name.count("::") > 1 for page, (name, _) in reference.pages.items()}
    for page, (name, text) in sorted(reference.pages.items(), key=lambda item: (nested[item[0]], item[1][0])):
        write(f"{REFERENCE}/{page}", text)
        title = "Namespace redlock" if name == "redlock" else name.removeprefix("redlock::").replace("<", "&lt;")
        listed["Interface"].append({title: f"{REFERENCE}/{page}"})
    return config


def on_page_content(html, page, **_):
    """Links the types in the declarations of the reference."""
    def link(match):
        url = reference.named.get("redlock::" + match[1], "").replace(".md", ".html")
        return f'<span class="n"><a href="{url}">{match[1]}</a></span>' if url else match[0]

    if not page.file.src_uri.startswith(REFERENCE + "/"):
        return html
    # What is declared itself comes before one of these.
    return re.sub(r'<span class="n">(\w+)</span>(?!\s*<span class="[op]">[;{(=])', link, html)
