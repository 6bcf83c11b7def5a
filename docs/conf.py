"""The documentation site: `make docs` builds it into `site/`, with warnings as errors.

The source is the whole repository, so that links between pages and to other files work on the site
as they do in the repository. The README is the home page.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "MetaOD"
author = "The MetaOD developers"
copyright = f"{author}, BSD-3-Clause"  # noqa: A001 - Sphinx has this name
root_doc = "README"
extensions = [
    "myst_nb",  # Markdown, and the tutorial's cells
    "sphinx.ext.autodoc",
    "numpydoc",
    "commands",  # ours: the reference of the command line
    "mathml",  # ours: formulas without a script
    "offline",  # ours: nothing is loaded from elsewhere
    "repository",  # ours: the table of contents, links to folders, drawings
]
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "RELEASING.md",
    "docs/*.md",
    "docs/*/*.md",
    "results/**.md",
    "research/README.md",
]
exclude_patterns = ["results/paper/claims.md"]  # a template: its links are those of reproduction.md

CONTENTS = {
    "": ["docs/tutorial", "docs/tutorial-errors"],
    "Tasks": ["docs/tasks/clean", "docs/tasks/monthly", "docs/tasks/label", "docs/tasks/compare"],
    "Guides": [
        "Overview <docs/guide>",
        "docs/guides/detect",
        "docs/guides/table",
        "docs/guides/threshold",
        "docs/guides/context",
        "docs/guides/why",
        "docs/report",
        "docs/guides/review",
        "docs/page",
        "docs/guides/new-rows",
        "docs/guides/pipeline",
        "docs/guides/compare",
        "docs/guides/models",
        "docs/guides/learner",
        "docs/guides/cluster",
        "docs/guides/server",
        "Your assistant (MCP) <docs/agents>",
    ],
    "How it works": [
        "Overview <docs/how-it-works>",
        "The pick <docs/selection>",
        "The mathematics <docs/learning>",
        "docs/learners",
        "docs/metafeatures",
        "docs/performance-matrix",
    ],
    "Reference": ["docs/cli", "docs/api", "docs/reference", "docs/promises"],
    "Evidence": [
        "Overview <docs/evidence>",
        "docs/selector",
        "Its protocol <docs/selector-protocol>",
        "docs/scoreboard",
        "Reviews <docs/review>",
        "Mixed tables <docs/mixed-tables>",
        "Wrong cells <docs/wrong-cells>",
        "Reasons <docs/reasons>",
        "Reproduction <docs/reproduction>",
        "Testbeds <docs/testbeds>",
        "docs/speed",
        "docs/scale",
        "The shipped matrix <docs/performance-matrix-summary>",
        "Files <results/README>",
    ],
    "Project": [
        "docs/architecture",
        "CONTRIBUTING",
        "Research <research/README>",
        "CHANGELOG",
        "SECURITY",
        "RELEASING",
    ],
}
"""Pages by the captions of the sidebar, some with a shorter title."""

# Markdown
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
# tables of results are parts of pages: their headings begin at the third level
suppress_warnings = ["myst.header"]
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

# docstrings
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# scikit-learn adds these, with references into its own manual
autodoc_default_options = {"exclude-members": "set_fit_request, set_score_request"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

smartquotes = False  # --json is no dash

# the look: system fonts, one accent, light and dark, nothing loaded from elsewhere
html_theme = "furo"
html_title = "MetaOD"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_home"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}
