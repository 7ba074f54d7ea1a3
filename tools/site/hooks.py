"""Makes a site of docs: navigation from docs/README.md, pages for linked files elsewhere, and the Markdown of forges."""

import os
import posixpath
import re
import unicodedata
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, InclusionLevel

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
OWN = ("iframe-worker.js", "site.css", "site.js")
LINK = re.compile(r"(\[[^\]]*\]\()([^()\s#]+)((?:#[^()\s]*)?\))")
FENCE = re.compile(r"^( *)```(.*)$")
ITEM = re.compile(r"^( *)([*-]|\d+\.) +")
# SHOWN are the kinds of files whose text a page of the site shows.
SHOWN = {".cff": "yaml", ".go": "go", ".json": "json", ".md": "md", ".py": "python", ".sh": "sh", ".yaml": "yaml"}


def on_config(config):
    config.nav = navigation((DOCS / "README.md").read_text())
    config.mdx_configs["toc"]["slugify"] = anchor
    return config


def anchor(heading, separator):
    """Returns the anchor of a heading as forges make it: internal/lint/citations_test.go has the same rule."""
    kept = "".join(c for c in heading.strip() if c in "-_ " or unicodedata.category(c)[0] in "LM" or c.isdecimal())
    return kept.replace(" ", separator).lower()


def navigation(text):
    """Returns the tree of pages: a tab for each heading of docs/README.md, with the pages of its table."""
    tabs, pages = [{"Home": "README.md"}], None
    for line in text.splitlines():
        if line.startswith("## "):
            pages = []
            tabs.append({line[3:].strip(): pages})
            continue
        row = re.match(r"\| \[([^\]]+)\]\(([^)#]+\.md)\)", line)
        if not row:
            continue
        if pages is None:
            raise PluginError(f"docs/README.md: {row[2]} is under no heading, so that the site has no place for it")
        title, page = row.groups()
        folder = Path(page).parent
        if Path(page).name != "README.md":
            pages.append({title: page})
            continue
        others = sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / folder).rglob("*.md"))
        pages.append({title: [page] + [other for other in others if other != page]})
    return [tab for tab in tabs if all(tab.values())]


def on_files(files, config):
    """Adds a page for each file outside docs that a page links to, and for each file of a folder."""
    for file in [f for f in files if f.is_documentation_page()]:
        for _, target, _ in LINK.findall(outside_fences(file.content_string)):
            path = resolved(file.src_uri, target)
            if path and path.is_file() and not path.is_relative_to(DOCS):
                add(files, config, path)
            elif path and path.is_dir():
                for child in sorted(path.iterdir()):
                    if child.is_file() and child.suffix in SHOWN and not path.is_relative_to(DOCS):
                        add(files, config, child)
                add(files, config, path)
    for path in (ROOT / "web/src/icon.svg", *(HERE / name for name in OWN)):
        files.append(File.generated(config, path.name, abs_src_path=str(path)))
    return files


def resolved(page, target):
    """Returns what a page links to if it is a folder or is outside docs, None otherwise."""
    if re.match(r"\w+:", target):
        return None
    path = Path(os.path.normpath(DOCS / posixpath.dirname(page) / target))
    return path if path.is_dir() or not path.is_relative_to(DOCS) else None


def address(path):
    """Returns the page of the site for a file or folder."""
    index = path / "README.md"
    if path.is_relative_to(DOCS) and index.is_file():
        return index.relative_to(DOCS).as_posix()
    return f"files/{path.relative_to(ROOT).as_posix()}.md"


def add(files, config, path):
    uri = address(path)
    if files.get_file_from_path(uri):
        return
    name = path.relative_to(ROOT).as_posix()
    top = "---\nsearch:\n  exclude: true\n---\n\n"
    if path.is_dir():
        rows = []
        for child in sorted(path.iterdir()):
            # A file of docs lies beside the pages; any other has a page of its own.
            target = child.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else address(child)
            if path.is_relative_to(DOCS) or files.get_file_from_path(target):
                rows.append(f"* [{child.name}]({posixpath.relpath(target, posixpath.dirname(uri))})\n")
        text = f"{top}# `{name}`\n\n{''.join(rows)}"
    elif path.suffix in SHOWN and path.exists():
        text = f"{top}# `{name}`\n\n````{SHOWN[path.suffix]}\n{path.read_text()}\n````\n"
    else:
        raise PluginError(f"docs link to {name}: tools/site/hooks.py shows no such file")
    files.append(File.generated(config, uri, content=text, inclusion=InclusionLevel.NOT_IN_NAV))


def outside_fences(text):
    return re.sub(r"(?ms)^ *```.*?^ *```", "", text)


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri.startswith("files/"):
        return markdown
    return translated(markdown, lambda target: rewritten(page.file.src_uri, target))


def rewritten(page, target):
    path = resolved(page, target)
    return posixpath.relpath(address(path), posixpath.dirname(page)) if path else target


def translated(markdown, link):
    """Returns Markdown of forges as Python-Markdown reads it: lists, and what follows the language of a fence."""
    lines, fenced, width, loose, last = [], False, 0, False, ""
    for line in markdown.splitlines():
        fence, item = FENCE.match(line), None if fenced else ITEM.match(line)
        if not fenced and line and not line.startswith(" ") and not item:
            width, loose = 0, False  # the list is over
        loose = loose or width > 0 and not line  # its items have paragraphs
        if item:
            if last and (loose or not width) and not last.startswith("#"):
                lines.append("")
            if not item[1] or not width:
                width = len(item[2]) + 1
        if fence and not fenced:
            line = fence[1] + "```" + information(fence[2])
        if fence:
            fenced = not fenced
        if not fenced and not fence:
            line = LINK.sub(lambda m: m[1] + link(m[2]) + m[3], line)
        if width:
            indent = len(line) - len(line.lstrip(" "))
            line = " " * (indent // width * 4 + indent % width) + line.lstrip(" ")
        lines.append(line)
        last = line
    return "\n".join(lines) + "\n"


def information(text):
    """Returns what a fence says: its language, and the command of an output as title. Marks are for the tests."""
    language, _, rest = text.strip().partition(" ")
    quoted = rest.replace('"', "&quot;")
    return f'{language} title="{quoted}"' if language == "text" and rest else language


def on_post_page(output, page, config):
    # The theme's search is a dialog without a name, which readers of screens miss.
    return output.replace('data-md-component="search" role="dialog"',
                          'data-md-component="search" role="dialog" aria-label="Search"')
