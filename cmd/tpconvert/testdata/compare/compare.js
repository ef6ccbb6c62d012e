// A program of a few functions, of which one may be slow. It writes its spans as a trace: node compare.js [slow] >trace.json
"use strict";
const slow = process.argv[2] === "slow";

const events = [];
// The clock is the CPU time of the process, so that nothing else on the machine matters.
const now = () => { const used = process.cpuUsage(); return used.user + used.system; };
function span(name, work) {
  const ts = now();
  const result = work();
  events.push({ph: "X", pid: 1, tid: 1, ts, dur: now() - ts, name});
  return result;
}

function checksum(numbers, times) {
  let sum = 0;
  for (let t = 0; t < times; t++) for (const n of numbers) sum = (sum + n * (t + 1)) % 1000003;
  return sum;
}
function render(numbers) {
  let out = "";
  for (const n of numbers) out += n.toFixed(3) + ",";
  return out;
}
function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}
function handle(text) {
  const parsed = span("parse", () => JSON.parse(text));
  const numbers = span("sort", () => Float64Array.from(parsed).sort());
  const sum = span("checksum", () => checksum(numbers, slow ? 90 : 50));
  return sum + span("hash", () => hash(span("render", () => render(numbers))));
}

let x = 1;
const random = () => (x = (x * 48271) % 2147483647) / 2147483647;
const text = JSON.stringify(Array.from({length: 5000}, random));
for (let i = 0; i < 40; i++) span("request " + i, () => handle(text));
console.log(JSON.stringify(events));
