"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const tip = document.getElementById("tip");

function make(tag, parent, props) {
  const element = Object.assign(document.createElement(tag), props);
  parent?.append(element);
  return element;
}

function color(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name); }

function duration(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (Math.abs(ns) >= size) return Number((ns / size).toPrecision(4)) + " " + unit;
  }
  return Number(ns.toPrecision(4)) + " ns";
}

function quantity(value, unit) {
  if (unit === "ns") return duration(value);
  if (unit !== "bytes") return value.toLocaleString("en") + (unit ? " " + unit : "");
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; Math.abs(value) >= 1024 && i < units.length - 1; i++) value /= 1024;
  return Number(value.toPrecision(4)) + " " + units[i];
}

function percent(value, of) { return of ? (100 * value / of).toFixed(1) + " %" : ""; }

function showTip(event, text) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4)) + "px";
  tip.style.top = Math.max(0, Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 4)) + "px";
}

// A canvas that is drawn anew when its size or the colors change.
function picture(parent, height, draw) {
  const canvas = make("canvas", parent, {tabIndex: 0});
  const paint = () => {
    const width = parent.clientWidth, tall = height(), scale = devicePixelRatio;
    if (!width) return;
    canvas.width = width * scale;
    canvas.height = tall * scale;
    canvas.style.height = tall + "px";
    const g = canvas.getContext("2d");
    g.scale(scale, scale);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    draw(g, width, tall);
  };
  let last = 0;
  new ResizeObserver(() => { if (parent.clientWidth !== last) { last = parent.clientWidth; requestAnimationFrame(paint); } }).observe(parent);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  canvas.addEventListener("pointerleave", e => showTip(e, ""));
  return {canvas, paint};
}

// Text that ends with a mark if it does not fit.
function fit(g, text, x, y, width) {
  let length = Math.min(text.length, Math.ceil(width / 3));
  const shown = () => length < text.length ? text.slice(0, length) + "…" : text;
  while (length > 0 && g.measureText(shown()).width > width) length = Math.floor(length * 0.9);
  if (length > 1 || length === text.length) g.fillText(shown(), x, y);
}

for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  table.tHead.addEventListener("click", e => {
    const head = e.target.closest("th");
    if (!head) return;
    const i = head.cellIndex, number = head.classList.contains("number");
    const up = head.ariaSort ? head.ariaSort !== "ascending" : !number;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.ariaSort = up ? "ascending" : "descending";
    const value = row => number ? Number(row.cells[i].dataset.sort ?? -Infinity) : row.cells[i].textContent;
    const order = number ? (a, b) => a - b : (a, b) => a.localeCompare(b);
    body.append(...[...body.rows].sort((a, b) => (up ? 1 : -1) * order(value(a), value(b))));
  });
  if (body.rows.length > 40) {
    const tools = make("div", null, {className: "tools"});
    const filter = make("input", tools, {type: "search", placeholder: "Filter rows"});
    table.parentElement.before(tools);
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }
}

for (const rect of document.querySelectorAll("svg.parts rect")) {
  rect.addEventListener("pointermove", e => showTip(e, rect.textContent));
  rect.addEventListener("pointerleave", e => showTip(e, ""));
}

// The overview: a line for each CPU, thread or GPU, as high as it is busy.
function timeline(parent) {
  const row = 18, axis = 22, gutter = 240;
  const hues = {"CPUs": 212, "Threads, running": 140, "Threads, in slices": 265, "GPUs": 30, "Threads, samples": 190};
  const tools = make("div", parent, {className: "tools"});
  const out = make("button", tools, {textContent: "Whole trace"});
  make("span", tools, {className: "note", textContent: "Drag to zoom into a range, or use Ctrl and the wheel, or + − ← → 0."});
  const lines = [];
  let group = "";
  for (const lane of data.lanes) {
    if (lane.group !== group) lines.push({title: group = lane.group});
    lines.push({...lane, busy: Uint8Array.from(atob(lane.busy), c => c.charCodeAt(0))});
  }
  let from = 0, to = data.dur, width = 1, drag = null, marked = null;
  const x = t => gutter + (t - from) / (to - from) * (width - gutter);
  const time = at => from + (Math.max(at, gutter) - gutter) / (width - gutter) * (to - from);
  const {canvas, paint} = picture(parent, () => axis + lines.length * row + 2, (g, w, h) => {
    width = w;
    g.fillStyle = g.strokeStyle = color("dim");
    let step = 10 ** Math.floor(Math.log10((to - from) / 5));
    step *= [1, 2, 5, 10].find(n => (to - from) / (step * n) <= 8) ?? 10;
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      g.fillStyle = color("dim");
      if (x(t) + 3 + g.measureText(duration(t)).width <= w) g.fillText(duration(t), x(t) + 3, axis / 2);
      g.fillStyle = color("line");
      g.fillRect(x(t), 0, 1, h);
    }
    lines.forEach((line, i) => {
      const y = axis + i * row;
      if (line.title) {
        g.fillStyle = color("text");
        g.fillText(line.title, 0, y + row / 2 + 1);
        return;
      }
      g.fillStyle = color("dim");
      fit(g, line.name + (line.process && line.process !== line.name ? "  " + line.process : ""), 8, y + row / 2, gutter - 16);
      g.fillStyle = color("panel");
      g.fillRect(gutter, y + 1, w - gutter, row - 2);
      for (let at = gutter; at < w; at++) {
        const busy = mean(line, time(at), time(at + 1));
        if (!busy) continue;
        const height = Math.max(1, busy * (row - 2));
        g.fillStyle = `hsl(${hues[line.group]} 60% 48% / ${0.45 + 0.55 * busy})`;
        g.fillRect(at, y + row - 1 - height, 1, height);
      }
    });
    if (marked) {
      g.fillStyle = color("mark") + "44";
      g.fillRect(x(marked[0]), 0, Math.max(2, x(marked[1]) - x(marked[0])), h);
    }
    if (drag) {
      g.fillStyle = color("accent") + "44";
      g.fillRect(Math.min(...drag), 0, Math.abs(drag[1] - drag[0]), h);
    }
  });
  function mean(line, a, b) {
    let sum = 0;
    const first = Math.floor(a / data.width), last = Math.max(first + 1, Math.ceil(b / data.width));
    for (let i = first; i < last && i < line.busy.length; i++) sum += line.busy[i];
    return sum / (last - first) / 255;
  }
  function zoom(a, b) {
    const least = Math.max(data.width, 1) * 4;
    const size = Math.min(data.dur, Math.max(least, b - a));
    from = Math.max(0, Math.min((a + b - size) / 2, data.dur - size));
    to = from + size;
    paint();
  }
  function scale(factor, at) { zoom(at - (at - from) * factor, at + (to - at) * factor); }
  out.onclick = () => { marked = null; zoom(0, data.dur); };
  canvas.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.metaKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) return;
    e.preventDefault();
    if (e.ctrlKey || e.metaKey) scale(Math.exp(e.deltaY / 300), time(e.offsetX));
    else zoom(from + e.deltaX / width * (to - from), to + e.deltaX / width * (to - from));
  }, {passive: false});
  canvas.addEventListener("pointerdown", e => {
    if (e.offsetX < gutter) return;
    drag = [e.offsetX, e.offsetX];
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", e => {
    if (drag) {
      drag[1] = Math.max(gutter, Math.min(width, e.offsetX));
      paint();
    }
    const line = lines[Math.floor((e.offsetY - axis) / row)];
    if (!line || line.title) return showTip(e, "");
    const t = time(e.offsetX);
    const now = e.offsetX < gutter ? "" : `\nat ${duration(t)}: ${(100 * mean(line, t, time(e.offsetX + 1))).toFixed(0)} %`;
    showTip(e, `${line.name}${line.process ? "\n" + line.process : ""}\n${line.sum} in the trace${now}`);
  });
  canvas.addEventListener("pointerup", () => {
    const range = drag;
    drag = null;
    if (range && Math.abs(range[1] - range[0]) > 4) zoom(time(Math.min(...range)), time(Math.max(...range)));
    else paint();
  });
  canvas.addEventListener("keydown", e => {
    const size = to - from, act = {
      "+": () => scale(0.5, from + size / 2), "-": () => scale(2, from + size / 2), "0": () => out.onclick(),
      ArrowLeft: () => zoom(from - size / 4, to - size / 4), ArrowRight: () => zoom(from + size / 4, to + size / 4),
    }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  for (const line of document.querySelectorAll("tr[data-ts]")) {
    line.classList.add("linked");
    line.title = "Show in the overview";
    line.addEventListener("click", () => {
      const ts = Number(line.dataset.ts), dur = Math.max(0, Number(line.dataset.dur ?? 0));
      marked = [ts, ts + dur];
      zoom(ts - dur, ts + 2 * dur);
      parent.scrollIntoView({behavior: "smooth", block: "center"});
    });
  }
}

// A flame graph whose root is at the top.
function flame(parent) {
  const row = 19, most = 250;
  const trees = parent.dataset.trees.trim().split(" ").map(i => data.trees[i]);
  const tools = make("div", parent, {className: "tools"});
  const choose = (options) => {
    const select = make("select", tools);
    for (const [value, text] of options) make("option", select, {value, textContent: text});
    select.hidden = options.length < 2;
    return select;
  };
  const which = choose(trees.map((t, i) => [i, t.title]));
  let owners = null;
  const search = make("input", tools, {type: "search", placeholder: "Search"});
  const said = make("span", tools, {className: "note"});
  const box = make("div", parent, {className: "stacks"});
  const cut = make("p", parent, {className: "note"});
  let tree, root, top, boxes = [], deepest = 1, found = "";

  // The nodes of one owner, or of all, where functions of one name below the same others are one.
  function build(owner) {
    const made = [];
    root = {name: "all", value: 0, below: new Map(), up: null};
    tree.parent.forEach((up, i) => {
      if (owner >= 0 && tree.owner[i] !== owner) return;
      const above = up < 0 ? root : made[up], name = data.names[tree.name[i]];
      let node = above.below.get(name);
      if (!node) above.below.set(name, node = {name, value: 0, below: new Map(), up: above});
      node.value += tree.value[i];
      made[i] = node;
      if (up < 0) root.value += tree.value[i];
    });
    top = root;
  }
  function hue(name) {
    let h = 0;
    for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) >>> 0;
    return h;
  }
  function place(width) {
    boxes = [];
    deepest = 1;
    const visit = (node, x, wide, depth) => {
      boxes.push({node, x, wide, depth});
      deepest = Math.max(deepest, depth + 1);
      if (depth + 1 >= most) return;
      for (const child of [...node.below.values()].sort((a, b) => b.value - a.value)) {
        const part = wide * child.value / node.value;
        if (part >= 0.5) visit(child, x, part, depth + 1);
        x += part;
      }
    };
    if (top.value > 0) visit(top, 0, width, 0);
  }
  const matches = name => found && name.toLowerCase().includes(found);
  const {canvas, paint} = picture(box, () => { place(box.clientWidth); return deepest * row; }, g => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    for (const {node, x, wide, depth} of boxes) {
      const h = hue(node.name), hit = matches(node.name);
      g.fillStyle = hit ? color("mark") : node === root ? color("sleeping") :
        `hsl(${20 + h % 35} ${found ? 25 : 70}% ${dark ? 30 + h % 9 : 72 + h % 9}%)`;
      g.fillRect(x, depth * row, Math.max(0.5, wide - 1), row - 1);
      g.fillStyle = hit ? "#000" : color("text");
      fit(g, node.name, x + 4, depth * row + row / 2, wide - 8);
    }
  });
  function show(node) {
    top = node;
    box.scrollTop = 0;
    paint();
  }
  function select() {
    tree = trees[which.value];
    owners?.remove();
    const sums = tree.owners.map(() => 0);
    tree.parent.forEach((up, i) => { if (up < 0) sums[tree.owner[i]] += tree.value[i]; });
    const order = tree.owners.map((name, i) => [i, `${name}: ${quantity(sums[i], tree.unit)}`, sums[i]]).sort((a, b) => b[2] - a[2]);
    owners = choose([[-1, `All threads: ${quantity(tree.total, tree.unit)}`], ...order].filter((o, i) => order.length > 1 || i));
    which.after(owners);
    owners.onchange = () => { build(Number(owners.value)); count(); show(root); };
    cut.textContent = tree.cut ? `${tree.cut.toLocaleString("en")} boxes of at most ${quantity(tree.least, tree.unit)} (${Number((100 * tree.least / tree.total).toPrecision(2))} %) are left out.` : "";
    owners.onchange();
  }
  function count() {
    let sum = 0;
    const visit = node => {
      if (matches(node.name)) sum += node.value;
      else node.below.forEach(visit);
    };
    if (found) visit(root);
    said.textContent = found ? `${percent(sum, root.value)} of ${quantity(root.value, tree.unit)} match` : "Click to zoom in, on the top to zoom out.";
  }
  which.onchange = select;
  search.oninput = () => { found = search.value.toLowerCase(); count(); paint(); };
  const at = e => {
    const depth = Math.floor(e.offsetY / row);
    return boxes.find(b => b.depth === depth && e.offsetX >= b.x && e.offsetX < b.x + Math.max(1, b.wide))?.node;
  };
  canvas.addEventListener("pointermove", e => {
    const node = at(e);
    if (!node) return showTip(e, "");
    let self = node.value;
    for (const child of node.below.values()) self -= child.value;
    showTip(e, `${node.name}\n${quantity(node.value, tree.unit)}, ${percent(node.value, root.value)}\nself ${quantity(Math.max(0, self), tree.unit)}`);
  });
  canvas.addEventListener("click", e => {
    const node = at(e);
    if (node) show(node === top && node.up ? node.up : node);
  });
  canvas.addEventListener("keydown", e => { if (e.key === "Escape") show(root); });
  select();
}

if (data) document.querySelectorAll(".timeline").forEach(timeline);
document.querySelectorAll(".flame").forEach(flame);
