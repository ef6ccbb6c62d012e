"""Draw the pictures of the README from traces in testdata.

    .ci/python docs/images/draw.py bin/tpconvert
"""

import collections
import html
import pathlib
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import duckdb
import matplotlib.pyplot as plt

images = pathlib.Path(__file__).parent
testdata = images.parent.parent / "testdata"


def convert(trace, folder):
    out = pathlib.Path(folder) / pathlib.Path(trace).stem
    subprocess.run([sys.argv[1], "--quiet", testdata / trace, out], check=True)
    return out


def flame_graph(out, to, width=960, row=17):
    """A flame graph of a CPU profile, as SVG: a box for each stack, as wide as its samples."""
    names = dict(duckdb.sql(f"SELECT id, name FROM '{out}/stack_profile_frame.parquet'").fetchall())
    stacks = {
        id: (parent, names[frame])
        for id, parent, frame in duckdb.sql(
            f"SELECT id, parent_id, frame_id FROM '{out}/stack_profile_callsite.parquet'"
        ).fetchall()
    }
    total = collections.Counter()
    for callsite, value in duckdb.sql(f"SELECT callsite_id, count(*) FROM '{out}/stack_sample.parquet' GROUP BY 1").fetchall():
        while callsite is not None:
            total[callsite] += value
            callsite = stacks[callsite][0]
    children = collections.defaultdict(list)
    for id in sorted(total, key=lambda id: stacks[id][1] or ""):
        children[stacks[id][0]].append(id)
    scale = width / sum(total[id] for id in children[None])
    boxes = []

    def draw(id, x, depth):
        w = total[id] * scale
        if w < 3:
            return
        boxes.append((x, depth, w, stacks[id][1] or "(anonymous)"))
        for child in children[id]:
            draw(child, x, depth + 1)
            x += total[child] * scale

    x = 0
    for id in children[None]:
        draw(id, x, 0)
        x += total[id] * scale
    height = row * (1 + max(depth for _, depth, _, _ in boxes))
    with open(to, "w") as svg:
        svg.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="11">\n'
        )
        for x, depth, w, name in boxes:
            y, hue = height - row * (depth + 1), 10 + sum(name.encode()) % 45
            letters = int(w / 6.2)
            text = name if len(name) <= letters else name[: letters - 1] + "…" if letters > 3 else ""
            svg.write(
                f'<g><title>{html.escape(name)}</title><rect x="{x:.1f}" y="{y}" width="{max(w - 0.6, 0.4):.1f}" '
                f'height="{row - 1}" fill="hsl({hue} 85% 68%)"/>'
            )
            if text:
                svg.write(f'<text x="{x + 3:.1f}" y="{y + 12}">{html.escape(text)}</text>')
            svg.write("</g>\n")
        svg.write("</svg>\n")


def busy_threads(out, to):
    """When the busiest threads of a trace are at work, as the notebook shows it."""
    threads = duckdb.sql(f"""
        SELECT coalesce(t.name, '') || ' (' || utid || ')', list((s.ts - b.start_ts) / 1e6), list(s.dur / 1e6)
        FROM '{out}/slice.parquet' s JOIN '{out}/thread_track.parquet' k ON s.track_id = k.id
        JOIN '{out}/thread.parquet' t USING (utid), '{out}/trace_bounds.parquet' b
        WHERE depth = 0 AND dur > 0 GROUP BY utid, t.name ORDER BY sum(dur) DESC LIMIT 8
    """).fetchall()
    figure, axes = plt.subplots(figsize=(9.6, 2.8), layout="constrained")
    for y, (_, starts, durs) in enumerate(threads):
        axes.broken_barh(list(zip(starts, durs)), (y - 0.4, 0.8))
    axes.set_yticks(range(len(threads)), [name for name, _, _ in threads])
    axes.invert_yaxis()
    axes.set_xlabel("ms since the trace began")
    axes.set_title("Threads at work")
    figure.savefig(to, dpi=100)


with tempfile.TemporaryDirectory() as folder:
    flame_graph(convert("node.cpuprofile", folder), images / "flamegraph.svg")
    busy_threads(convert("chromium.json.gz", folder), images / "threads.png")
