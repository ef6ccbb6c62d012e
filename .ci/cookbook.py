"""Run the blocks of docs/cookbook.md, and compare their results with the text that follows them.

With --write, the text is replaced by the results of SQL; pandas and Polars must give the same. With --on FOLDER, the traces are
real ones of that folder, and the results are compared with each other.
"""

import ast
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import duckdb
import pandas

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
    if value is None or value is pandas.NA or value != value:
        return "NULL"
    return value if isinstance(value, str) else f"{value:.6f}".rstrip("0").rstrip(".")


def run(converter, traces, page, *flags):
    """Convert traces as the page says, in the current folder, and yield the results of each analysis by language, and its text."""
    for line in re.findall(r"^    tpconvert (.*)$", page, re.MULTILINE):
        args = [traces / arg if (traces / arg).exists() else arg for arg in line.split()]
        code = subprocess.run([converter, "--quiet", *flags, *args], stderr=subprocess.DEVNULL).returncode
        assert code in (0, 5), f"tpconvert {line}: exit code {code}"  # the end of a real trace may be cut off
    runs = {"sql": by_sql, "python pandas": by_python, "python polars": by_python}
    names = {language: {} for language in runs}
    given = {}
    for language, code in BLOCK.findall(page):
        if language == "text":
            assert given.keys() == runs.keys(), f"before\n{code}\nthere is only {list(given)}"
            yield given, code
            given = {}
        elif result := runs[language](code, names[language]):
            given[language] = result


def documented(converter, write):
    """The results in all languages are the text of the page."""
    page = PAGE.read_text()
    sections, failures = 0, []
    for given, want in run(converter, ROOT / "testdata", page):
        sections += 1
        if write:
            page = page.replace(f"```text\n{want}```", f"```text\n{text(*given['sql'])}```")
            want = text(*given["sql"])
        failures += [f"{language} gives\n{text(*got)}want\n{want}" for language, got in given.items() if text(*got) != want]
    if write:
        PAGE.write_text(page)
    return sections, failures


# Real traces that take the place of those of the page.
REAL = {
    "chromium.json.gz": ["chrome-json/GoogleChrome__lighthouse__trace.json.gz", "chrome-json/catapult-project__catapult__webview.json.gz",
                         "chrome-json/ChromeDevTools__chrome-devtools-mcp__basic-trace.json.gz"],
    "devtools.json.gz": ["chrome-json/GoogleChrome__lighthouse__cpu-profiler-m86.trace.json.gz",
                         "chrome-json/ChromeDevTools__chrome-devtools-mcp__web-dev-with-commit.json.gz",
                         "chrome-json/GoogleChrome__lighthouse__load.json.gz"],
    "go_cpu.pb.gz": ["pprof/9seconds__mtg__default.pgo", "pprof/grafana__pyroscope__go.cpu.labels.pprof", "pprof/elastic__apm-server__default.pgo"],
    "go_cpu_nosha.pb.gz": ["pprof/akvorado__akvorado__default.pgo", "pprof/dundee__gdu__default.pgo", "pprof/concourse__concourse__default.pgo"],
    "app.ftrace": ["systrace/Gracker__SystraceForBlog__flutter-wanandroid.html.gz", "systrace/catapult-project__catapult__atrace_fixed_tgids",
                   "perfetto/Gracker__Perfetto-Skills__api32_startup_warm.perfetto-trace"],
    "frames.pftrace": ["perfetto/Gracker__Perfetto-Skills__api32_startup_warm.perfetto-trace",
                       "perfetto/Gracker__SmartPerfetto__scrolling_with_blocked_nonblocked_frames.pftrace",
                       "perfetto/liangjiajiajia__MyTraceCannary__trace_01.perfetto-trace"],
    "job/rank0.json": ["chrome-json/facebookresearch__HolisticTraceAnalysis__rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
                       "chrome-json/AMD-AGI__TraceLens__profile_trace_rank_0.json.gz",
                       "chrome-json/facebookresearch__HolisticTraceAnalysis__df_index_resolver.json.gz"],
    "job/rank34.json": ["chrome-json/facebookresearch__HolisticTraceAnalysis__rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"] * 3,
}


def real(converter, folder):
    """All languages give the same rows of real traces, those of one value in any order."""
    sections, failures = 0, []
    for place in range(3):
        os.mkdir(f"traces{place}")
        os.chdir(f"traces{place}")
        os.mkdir("job")
        for name, of in REAL.items():
            os.symlink(folder / "traces" / of[place], name)
        for given, _ in run(converter, pathlib.Path.cwd(), PAGE.read_text(), "--empty-tables"):
            sections += 1
            rows = {language: collections.Counter(tuple(map(cell, row)) for row in got) for language, (_, got) in given.items()}
            failures += [f"traces {place}, {given['sql'][0]}: {language} has {list(got - rows['sql'])[:3]}, SQL {list(rows['sql'] - got)[:3]}"
                         for language, got in rows.items() if got != rows["sql"]]
        os.chdir("..")
    return sections, failures


def main(converter, *options):
    converter = pathlib.Path(converter).resolve()
    on = [pathlib.Path(folder).resolve() for option, folder in zip(options, options[1:]) if option == "--on"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sections, failures = real(converter, *on) if on else documented(converter, "--write" in options)
    for failure in failures:
        print(failure, file=sys.stderr)
    assert sections >= 10, f"{sections} analyses"
    print(f"cookbook: {sections} analyses in SQL, pandas and Polars, {len(failures)} differ")
    sys.exit(bool(failures))


main(*sys.argv[1:])
