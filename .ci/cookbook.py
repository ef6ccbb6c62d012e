"""Run the blocks of docs/cookbook.md, and compare their results with the text that follows them.

With --write, the text is replaced by the results of SQL; pandas and Polars must give the same.
"""

import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import duckdb

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "docs" / "cookbook.md"
BLOCK = re.compile(r"```(sql|python pandas|python polars|text)\n(.*?)```", re.DOTALL)


def by_sql(code, _):
    file = re.match(r"-- (\S+)\n", code)[1]
    with duckdb.connect(file, read_only=True) as db:
        result = db.sql(code)
        return result.columns, result.fetchall()


def by_python(code, names):
    """Run code. If the last statement is an expression, it is a data frame."""
    *body, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        exec(code, names)
        return None
    exec(compile(ast.Module(body, []), str(PAGE), "exec"), names)
    frame = eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)
    rows = frame.rows() if hasattr(frame, "rows") else frame.itertuples(index=False, name=None)
    return list(frame.columns), list(rows)


def text(columns, rows):
    """Rows as tpconvert prints them, with at most six decimals in floats."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells)]
    numbers = [any(not isinstance(value, str) for value in column) for column in zip(*rows)]
    lines = [columns, ["-" * width for width in widths], *cells]
    return "".join(
        "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, numbers)).rstrip() + "\n" for line in lines)


def cell(value):
    return value if isinstance(value, str) else f"{value:.6f}".rstrip("0").rstrip(".")


def main(converter, *options):
    converter = pathlib.Path(converter).resolve()
    page = PAGE.read_text()
    sections, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for line in re.findall(r"^    tpconvert (.*)$", page, re.MULTILINE):
            traces = ROOT / "testdata"
            args = [traces / arg if (traces / arg).exists() else arg for arg in line.split()]
            subprocess.run([converter, "--quiet", *args], check=True)
        runs = {"sql": by_sql, "python pandas": by_python, "python polars": by_python}
        names = {language: {} for language in runs}
        given = {}

        def compare(block):
            nonlocal sections
            language, code = block.groups()
            if language != "text":
                if result := runs[language](code, names[language]):
                    given[language] = text(*result)
                return block[0]
            sections += 1
            want = given["sql"] if "--write" in options else code
            assert given.keys() == runs.keys(), f"before\n{code}\nthere is only {list(given)}"
            failures.extend(f"{language} gives\n{got}want\n{want}" for language, got in given.items() if got != want)
            given.clear()
            return f"```text\n{want}```"

        written = BLOCK.sub(compare, page)
    for failure in failures:
        print(failure, file=sys.stderr)
    if "--write" in options:
        PAGE.write_text(written)
    assert sections >= 10, f"{sections} analyses"
    print(f"cookbook: {sections} analyses in SQL, pandas and Polars, {len(failures)} differ")
    sys.exit(bool(failures))


main(*sys.argv[1:])
