"""The documentation site: `make docs` builds it into build/docs/html, warnings as errors."""
import pathlib

project = "pteron"
author = "the pteron authors"
copyright = author  # noqa: A001 (the name is Sphinx's)
release = (pathlib.Path(__file__).parent / "VERSION").read_text().strip()
extensions = ["myst_parser"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # JSON with an ellipsis
html_theme = "furo"
html_title = f"pteron {release}"
html_copy_source = False
