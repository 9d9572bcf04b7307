"""Sphinx: the site that `make docs` builds from a copy of this folder with figures in it (tools/docs)."""
import os

project = "kreisel"
author = "the kreisel authors"
copyright = author  # pylint: disable=redefined-builtin
version = release = os.environ.get("KREISEL_VERSION", "")
extensions = ["myst_parser", "breathe"]
html_theme = "furo"
html_title = f"kreisel {release}"
# Plain blocks are formulas.
highlight_language = "text"
myst_heading_anchors = 3
exclude_patterns = ["images/*.py"]
breathe_projects = {"kreisel": os.environ.get("KREISEL_DOXYGEN", "")}
breathe_default_project = "kreisel"
