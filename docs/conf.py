"""Sphinx: the site that `make docs` builds from a copy of this folder with figures in it (tools/docs)."""
import os
import re

from docutils import nodes

project = "kreisel"
author = "the kreisel authors"
copyright = author  # pylint: disable=redefined-builtin
version = release = os.environ.get("KREISEL_VERSION", "")
extensions = ["myst_parser", "breathe"]
html_theme = "furo"
html_title = f"kreisel {release}"
html_static_path = ["images/site.css"]
html_css_files = ["site.css"]
# Plain blocks are formulas.
highlight_language = "text"
myst_heading_anchors = 3
exclude_patterns = ["images/*.py"]
breathe_projects = {"kreisel": os.environ.get("KREISEL_DOXYGEN", "")}
breathe_default_project = "kreisel"

# Formulas are written as in the comments of the source, α_i, t_{n+1}, h^k; the site shows indices and exponents as such. An index is
# one letter or stands in braces: names such as t_end are none.
INDEX = re.compile(r"([_^])(?:\{([^{}]+)\}|([^\W_])(?!\w))(?<![\s_^])")


def with_indices(text):
    """The text as nodes, or nothing when it has no index."""
    parts, at = [], 0
    for found in INDEX.finditer(text):
        if found.start() == 0 or text[found.start() - 1].isspace():
            continue
        kind = nodes.subscript if found[1] == "_" else nodes.superscript
        parts += [nodes.Text(text[at:found.start()]), kind("", found[2] or found[3])]
        at = found.end()
    return [*parts, nodes.Text(text[at:])] if parts else []


def set_indices(app, doctree):
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language", "none") == "none" and (parts := with_indices(block.astext())):
            block.children = []
            block += parts
            block.rawsource = ""  # says that it has markup of its own
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, (nodes.paragraph, nodes.strong, nodes.emphasis, nodes.entry)) and (parts := with_indices(text.astext())):
            text.parent.replace(text, parts)


def setup(app):
    app.connect("doctree-read", set_indices)
