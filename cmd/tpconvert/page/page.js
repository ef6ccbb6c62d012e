"use strict";

const tip = document.getElementById("tip");

function make(tag, parent, props) {
  const element = Object.assign(document.createElement(tag), props);
  parent?.append(element);
  return element;
}

// Shows a text beside the pointer.
function showTip(event, text) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4)) + "px";
  tip.style.top = Math.max(0, Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 4)) + "px";
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

// Times in the reader's zone and language.
for (const time of document.querySelectorAll("time"))
  time.textContent = new Date(time.dateTime).toLocaleString([], {dateStyle: "long", timeStyle: "medium"});
