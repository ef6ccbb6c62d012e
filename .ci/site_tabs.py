"""Shows code blocks that say the same in several languages as tabs, when MkDocs builds the site.

A second word after the language, as in "python pandas", names the tab. GitHub ignores it, and so blocks stay plain there.
"""

import re
import textwrap

BLOCK = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
RUN = re.compile(r"(?:^```(?:sql|python)(?: \w+)?\n.*?^```\n\n?)+", re.DOTALL | re.MULTILINE)
NAMES = {("sql", ""): "SQL", ("sql", "perfetto"): "PerfettoSQL", ("sql", "duckdb"): "DuckDB", ("python", "pandas"): "pandas",
         ("python", "polars"): "Polars"}


def tabs(run):
    blocks = [(language, kind, f"```{language}\n{code}```\n") for language, kind, code in BLOCK.findall(run.group())]
    if len(blocks) == 1:
        return blocks[0][2] + "\n"
    names = NAMES | {("sql", ""): "DuckDB"} if any(kind == "perfetto" for _, kind, _ in blocks) else NAMES
    return "".join(f'=== "{names[language, kind]}"\n\n{textwrap.indent(block, "    ")}\n' for language, kind, block in blocks)


def on_page_markdown(markdown, **_):
    return RUN.sub(tabs, markdown)
