"use strict";

let data; // what is drawn

// The data of the page and the library are compressed and in base64.
function unpack(id) {
  const bytes = Uint8Array.from(atob(JSON.parse(document.getElementById(id).textContent)), c => c.charCodeAt(0));
  const packed = new ReadableStream({start(to) { to.enqueue(bytes); to.close(); }});
  return new Response(packed.pipeThrough(new DecompressionStream("gzip")));
}

// In a notebook, one report holds the library for all. It stays with the page that shows their frames. Colab
// shows each cell in a page of its own: the report that holds the library sends it to those that ask for it.
async function library() {
  if (parent === window) return unpack("library").text();
  let others = {postMessage() {}, close() {}};
  try {
    others = new BroadcastChannel(document.querySelector("meta[http-equiv]").content); // the same policy is the same library
  } catch { /* the browser blocks what frames of other origins might store */ }
  if (document.getElementById("library").textContent) {
    const text = await unpack("library").text();
    try { parent.tpconvertLibrary = text; } catch { /* the frame is of another origin */ }
    others.onmessage = e => { if (e.data === "wanted") others.postMessage(text); };
    return text;
  }
  const missing = make("p", document.querySelector("header"), {className: "note", textContent: "Pictures come with the library of the notebook's first report. Run this cell again if that one is gone."});
  let text;
  others.onmessage = e => { if (e.data !== "wanted") text = e.data; };
  for (;; await new Promise(wait => setTimeout(wait, 250))) {
    try { text ??= parent.tpconvertLibrary; } catch { /* the frame is of another origin */ }
    if (text) break;
    others.postMessage("wanted");
  }
  others.close();
  missing.remove();
  return text;
}

function color(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name); }

// With enough digits to tell values apart that differ by step.
function duration(ns, step = 0) {
  const [unit, size] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, size]) => Math.abs(ns) >= size) ?? ["ns", 1];
  const digits = step ? Math.max(1, Math.ceil(Math.log10(Math.abs(ns) / step)) + 1) : 4;
  return Number((ns / size).toPrecision(Math.min(digits, 15))) + " " + unit;
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

// A chart that is drawn anew when its size or the colors change. options returns what to draw, and how high that is.
function picture(parent, label, options, hint) {
  const box = make("div", parent, {className: "picture", tabIndex: 0, role: "img", ariaLabel: label});
  const chart = echarts.init(box, null, {width: 1, height: 1});
  let width = 0;
  const paint = () => {
    width = parent.clientWidth;
    if (!width) return;
    const {height, ...option} = options(width);
    chart.getZr().resize({width, height}); // chart.resize would draw what is gone
    chart.setOption({animation: false, ...option});
  };
  new ResizeObserver(() => { if (parent.clientWidth !== width) requestAnimationFrame(paint); }).observe(parent);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  chart.on("mousemove", e => showTip(e.event.event, hint(e)));
  chart.on("mouseout", e => showTip(e.event.event, ""));
  return {box, chart, paint};
}

// Text on one line that ends with a mark if it does not fit.
function line(text, width, style) {
  return {text: text.replace(/\s/g, " "), width, overflow: "truncate", ellipsis: "…", font: "12px system-ui, sans-serif", ...style};
}

// The overview: a line for each CPU, thread or GPU, as high as it is busy.
function timeline(parent) {
  const row = 18, axis = 22;
  const hues = {"CPUs": 212, "Threads, running": 140, "Threads, in slices": 265, "GPUs": 30, "Computation": 140, "Communication that nothing hides": 0, "Threads, samples": 190};
  const tools = make("div", parent, {className: "tools"});
  const whole = make("button", tools, {textContent: "Whole trace"});
  make("span", tools, {className: "note", textContent: "Drag to zoom into a range, or use Ctrl and the wheel, or + − ← → 0."});
  const lines = [];
  let group = "";
  for (const lane of data.lanes) {
    if (lane.group !== group) lines.push({title: group = lane.group});
    lines.push({...lane, busy: Uint8Array.from(atob(lane.busy), c => c.charCodeAt(0))});
  }
  let gutter = 0, right = 0, marked = [];
  const {box, chart, paint} = picture(parent, "When CPUs, threads and GPUs were busy", width => {
    gutter = Math.min(240, Math.round(width / 3));
    right = width;
    const grid = {left: gutter, right: 0, top: axis, bottom: 2, outerBoundsMode: "none"};
    return {
      height: axis + lines.length * row + 2,
      grid,
      xAxis: {
        min: 0, max: data.dur, position: "top", splitNumber: Math.ceil((width - gutter) / 140),
        axisLine: {show: false}, axisTick: {show: false}, splitLine: {lineStyle: {color: color("line")}},
        axisLabel: {color: color("dim"), margin: 6, hideOverlap: true, showMaxLabel: true, alignMinLabel: "left", alignMaxLabel: "right", formatter: t => duration(t, (time(right) - time(gutter)) / 100)},
        axisPointer: {show: true, triggerEmphasis: false, lineStyle: {color: color("dim")}, label: {show: false}},
      },
      yAxis: {show: false, min: 0, max: 1},
      dataZoom: {type: "inside", filterMode: "none", disabled: true, minValueSpan: Math.min(4 * data.width, data.dur)},
      toolbox: {itemSize: 0, showTitle: false, feature: {dataZoom: {yAxisIndex: false, filterMode: "none", brushStyle: {color: color("accent"), opacity: 0.25}}}},
      series: [
        {id: "lanes", type: "custom", data: lines.map(() => [0, 0]), renderItem: drawLine},
        {id: "marked", type: "custom", clip: true, silent: true, data: marked, renderItem: drawMark},
      ],
    };
  }, e => {
    const {name, process, sum, busy} = lines[e.dataIndex], at = e.event.offsetX;
    const now = at < gutter ? "" : `\nat ${duration(time(at))}: ${(100 * mean(busy, time(at), time(at + 1))).toFixed(0)} %`;
    return `${name}${process ? "\n" + process : ""}\n${sum} in the trace${now}`;
  });
  function time(at) { return chart.convertFromPixel({xAxisIndex: 0}, at); }
  function mean(busy, a, b) {
    let sum = 0;
    const first = Math.floor(a / data.width), last = Math.max(first + 1, Math.ceil(b / data.width));
    for (let i = first; i < last && i < busy.length; i++) sum += busy[i];
    return sum / (last - first) / 255;
  }
  function drawLine({dataIndex}, api) {
    const {title, name, process, group, busy} = lines[dataIndex], top = axis + dataIndex * row, bottom = top + row - 1;
    if (title) return {type: "text", silent: true, x: 0, y: top + 4, style: {text: title, fill: color("text"), font: "600 12px system-ui, sans-serif"}};
    const [start] = api.coord([0, 0]), [end] = api.coord([data.dur, 0]), scale = data.dur / (end - start);
    const points = [[gutter, bottom]];
    for (let at = gutter; at < right; at++) {
      const part = mean(busy, (at - start) * scale, (at + 1 - start) * scale);
      const y = bottom - (part && Math.max(1, part * (row - 2)));
      if (y !== points.at(-1)[1]) points.push([at, points.at(-1)[1]], [at, y]);
    }
    points.push([right, points.at(-1)[1]], [right, bottom]);
    const label = name + (process && process !== name ? "  " + process : "");
    return {type: "group", emphasisDisabled: true, children: [
      {type: "rect", cursor: "crosshair", shape: {x: 0, y: top, width: right, height: row}, style: {fill: "transparent"}},
      {type: "rect", silent: true, shape: {x: gutter, y: top + 1, width: right - gutter, height: row - 2}, style: {fill: color("text"), opacity: 0.05}},
      {type: "text", silent: true, x: 8, y: top + 4, style: line(label, gutter - 16, {fill: color("dim")})},
      {type: "polygon", silent: true, shape: {points}, style: {fill: `hsl(${hues[group]}, 60%, 48%)`}},
    ]};
  }
  function drawMark(_, api) {
    const [x] = api.coord([api.value(0), 0]), [end] = api.coord([api.value(1), 0]);
    return {type: "rect", shape: {x, y: 0, width: Math.max(2, end - x), height: axis + lines.length * row}, style: {fill: color("mark"), opacity: 0.3}};
  }
  function zoom(from, to) {
    const size = Math.min(data.dur, Math.max(4 * data.width, to - from));
    from = Math.max(0, Math.min((from + to - size) / 2, data.dur - size));
    chart.dispatchAction({type: "dataZoom", dataZoomIndex: 0, startValue: from, endValue: from + size});
  }
  // Scales the range around a place, and moves it by a part.
  function scale(factor, at, by = 0) {
    const from = time(gutter), to = time(right), middle = time(at), move = by * (to - from);
    zoom(middle - (middle - from) * factor + move, middle + (to - middle) * factor + move);
  }
  whole.onclick = () => { marked = []; paint(); zoom(0, data.dur); };
  box.addEventListener("pointerenter", () => chart.dispatchAction({type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true}), {once: true});
  box.addEventListener("keydown", e => {
    const middle = (gutter + right) / 2, act = {
      "+": () => scale(0.5, middle), "-": () => scale(2, middle), "0": () => whole.onclick(),
      ArrowLeft: () => scale(1, middle, -0.25), ArrowRight: () => scale(1, middle, 0.25),
    }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  // The library's own zoom by the wheel would keep the page from scrolling: https://github.com/apache/echarts/issues/10079
  box.addEventListener("wheel", e => {
    const zooms = e.ctrlKey || e.metaKey;
    if (!zooms && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) return;
    e.preventDefault();
    if (zooms) scale(Math.exp(e.deltaY / 300), Math.max(e.offsetX, gutter));
    else scale(1, gutter, e.deltaX / (right - gutter));
  }, {passive: false});
  for (const tr of document.querySelectorAll("tr[data-ts]")) {
    tr.classList.add("linked");
    tr.title = "Show in the overview";
    tr.addEventListener("click", () => {
      const ts = Number(tr.dataset.ts), dur = Math.max(0, Number(tr.dataset.dur ?? 0));
      marked = [[ts, ts + dur]];
      paint();
      zoom(ts - dur, ts + 2 * dur);
      parent.scrollIntoView({behavior: "smooth", block: "center"});
    });
  }
}

// A flame graph whose root is at the top.
function flame(parent) {
  const row = 19, mostBelow = 250, mostAbove = 50;
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
  const order = make("select", tools, {title: "What is below a box"});
  for (const text of ["from the root", "callers", "in time order"]) make("option", order, {textContent: text});
  const search = make("input", tools, {type: "search", placeholder: "Search"});
  const copy = make("button", tools, {textContent: "Copy stack", title: "Copies the names from the root to the box that is zoomed in on"});
  const said = make("span", tools, {className: "note"});
  const stacks = make("div", parent, {className: "stacks"});
  const cut = make("p", parent, {className: "note"});
  let tree, root, top, boxes = [], found = "";
  let drawn = 0; // each box is a new one, because the library leaves texts and highlights on those that it knows
  const callers = () => order.selectedIndex === 1, inTime = () => order.selectedIndex === 2;

  // The nodes of one owner, or of all, where functions of one name below the same others are one. Those that stand for smaller ones
  // have no name in the data.
  function build(owner) {
    const made = [], all = [];
    let rest = 0;
    root = {name: "all", self: 0, value: 0, smaller: 0, below: new Map(), up: null};
    const add = (above, name, self, smaller) => {
      let node = above.below.get(name);
      if (!node) {
        above.below.set(name, node = {name, self: 0, value: 0, smaller: 0, below: new Map(), up: above});
        all.push(node);
      }
      node.self += self;
      node.smaller += smaller;
      return node;
    };
    tree.parent.forEach((up, i) => {
      const name = data.names[tree.name[i]], smaller = name === undefined ? tree.smaller[rest++] : 0;
      if (owner >= 0 && tree.owner[i] !== owner) return;
      if (!callers()) {
        made[i] = add(up < 0 ? root : made[up], name, tree.self[i], smaller);
      } else if (tree.self[i] > 0) { // of a function; below it are those that called it
        let node = add(root, name, 0, smaller);
        for (let at = up; at >= 0; at = tree.parent[at]) node = add(node, data.names[tree.name[at]], 0, 0);
        node.self += tree.self[i];
      }
    });
    for (const node of all.reverse()) {
      node.value += node.self;
      node.up.value += node.value;
      if (node.smaller) node.name = several(node.smaller);
    }
  }
  // The boxes of a thread in the order of time. Their width is not the value of those that stand for smaller ones.
  function buildChart(chart) {
    const made = [];
    let rest = 0;
    root = {name: chart.title, value: chart.total, start: 0, width: chart.total, smaller: 0, below: [], up: null};
    chart.parent.forEach((up, i) => {
      const name = data.names[chart.name[i]], above = up < 0 ? root : made[up];
      const node = made[i] = {name, value: chart.width[i], start: chart.start[i], width: chart.width[i], smaller: 0, below: [], up: above};
      if (name === undefined) {
        node.smaller = chart.smaller[rest];
        node.value = chart.value[rest++];
        node.name = several(node.smaller);
      }
      above.below.push(node);
    });
  }
  const several = n => `${n.toLocaleString("en")} smaller`;
  // Functions of one package, namespace or class have one colour.
  function hue(name) {
    name = name.replace(/^(.*[^:.])(\.|::)[^/]*$/, "$1");
    let h = 0;
    for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) >>> 0;
    return h;
  }
  // The boxes of the node on top, those around it, and those below that are wide enough to be seen.
  function place(width) {
    boxes = [];
    for (let node = top.up; node && boxes.length < mostAbove; node = node.up) boxes.unshift({node, x: 0, wide: width});
    boxes.forEach((box, depth) => box.depth = depth);
    const first = boxes.length;
    const visit = (node, x, wide, depth) => {
      boxes.push({node, x, wide, depth});
      if (depth + 1 >= first + mostBelow) return;
      const below = [...node.below.values()];
      if (!inTime()) below.sort((a, b) => b.value - a.value);
      let left = x;
      for (const child of below) {
        const part = wide * (inTime() ? child.width / node.width : child.value / node.value);
        if (inTime()) left = x + wide * (child.start - node.start) / node.width;
        if (part >= 0.5) visit(child, left, part, depth + 1);
        left += part;
      }
    };
    if (top.value > 0) visit(top, 0, width, first);
  }
  const matches = node => found && !node.smaller && node.name.toLowerCase().includes(found);
  const {box, chart, paint} = picture(stacks, "Flame graph", width => {
    place(width);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const colors = Object.fromEntries(["mark", "sleeping", "text"].map(name => [name, color(name)]));
    return {
      height: row * (1 + boxes.reduce((deepest, box) => Math.max(deepest, box.depth), 0)),
      series: {type: "custom", coordinateSystem: "none", data: boxes.map(() => ({id: drawn++, value: 0})), renderItem: ({dataIndex}) => {
        const {node, x, wide, depth} = boxes[dataIndex], h = hue(node.name), hit = matches(node);
        return {
          type: "rect", shape: {x, y: depth * row, width: Math.max(0.5, wide - 1), height: row - 1},
          style: {fill: hit ? colors.mark : node === root || node.smaller ? colors.sleeping : `hsl(${20 + h % 35}, ${found ? 25 : 70}%, ${dark ? 30 + h % 9 : 72 + h % 9}%)`},
          textContent: wide < 36 ? null : {style: line(node.name, wide - 9, {fill: hit ? "#000" : colors.text})},
          textConfig: {position: "insideLeft", distance: 4},
        };
      }},
    };
  }, e => {
    const {node} = boxes[e.dataIndex], lines = [node.name];
    if (!node.smaller && Object.hasOwn(data.places, node.name)) lines.push(data.places[node.name]);
    lines.push(`${quantity(node.value, tree.unit)}, ${percent(node.value, root.value)}`);
    if (inTime() && tree.timed) lines.push(`at ${duration(node.start, node.width)}`);
    if (!inTime() && !callers() && !node.smaller) lines.push(`self ${quantity(node.self, tree.unit)}`);
    return lines.join("\n");
  });
  function show(node) {
    top = node;
    paint();
    stacks.scrollTop = Math.min(stacks.scrollTop, row * boxes.find(box => box.node === top)?.depth);
  }
  function select() {
    tree = trees[which.value];
    const timed = order.options[2];
    timed.hidden = timed.disabled = !tree.charts;
    if (inTime() && !tree.charts) order.selectedIndex = 0;
    owners?.remove();
    const text = (title, sum) => `${title}: ${quantity(sum, tree.unit)}`;
    if (inTime()) {
      owners = choose(tree.charts.map((chart, i) => [i, chart.title]));
    } else {
      const sums = tree.owners.map(() => 0);
      tree.self.forEach((self, i) => sums[tree.owner[i]] += self);
      const sorted = tree.owners.map((name, i) => [i, text(name, sums[i]), sums[i]]).sort((a, b) => b[2] - a[2]);
      const all = sorted.length > 1 ? [[-1, text("All threads", sums.reduce((a, b) => a + b, 0))]] : [];
      owners = choose(tree.timed ? [...sorted, ...all] : [...all, ...sorted]); // threads have their slices at the same time
    }
    which.after(owners);
    owners.onchange = () => {
      if (inTime()) buildChart(tree.charts[owners.value]);
      else build(Number(owners.value));
      count();
      show(root);
    };
    cut.textContent = tree.cut && !inTime() ? `${tree.cut.toLocaleString("en")} stacks that take the least time are left out.` : "";
    owners.onchange();
  }
  function count() {
    let sum = 0, unknown = 0;
    const visit = node => {
      if (matches(node)) sum += node.value;
      else if (node.smaller) unknown += node.value;
      else node.below.forEach(visit);
    };
    if (found) visit(root);
    const most = unknown ? ` to ${percent(sum + unknown, root.value)}` : "";
    said.textContent = found ? `${percent(sum, root.value)}${most} of ${quantity(root.value, tree.unit)} match` : "Click to zoom in, on a box above to zoom out.";
  }
  which.onchange = order.onchange = select;
  search.oninput = () => { found = search.value.toLowerCase(); count(); paint(); };
  copy.onclick = () => {
    const names = [];
    for (let node = top; node.up; node = node.up) names.unshift(node.name);
    navigator.clipboard.writeText(names.join("\n"));
  };
  chart.on("click", e => {
    const {node} = boxes[e.dataIndex];
    show(node === top && node.up ? node.up : node);
  });
  box.addEventListener("keydown", e => { if (e.key === "Escape") show(root); });
  select();
}

Promise.all([library(), unpack("data").json()]).then(([textContent, found]) => {
  make("script", document.head, {textContent});
  data = found;
  document.querySelectorAll(".timeline").forEach(timeline);
  document.querySelectorAll(".flame").forEach(flame);
});
