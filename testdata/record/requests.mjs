// Writes a trace of 40 requests: node requests.mjs TRACE [TIMES], where checksum does TIMES as much work.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';

const [out, times = '1'] = process.argv.slice(2);
const events = [];
function timed(name, work) {
  const begun = process.hrtime.bigint();
  const result = work();
  events.push({ name, ph: 'X', pid: process.pid, tid: 1, ts: Number(begun) / 1e3, dur: Number(process.hrtime.bigint() - begun) / 1e3 });
  return result;
}

function checksum(text, rounds) {
  let sum = 0;
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) | 0;
  }
  return sum;
}

const body = JSON.stringify(Array.from({ length: 300 }, (_, id) => ({ id, name: `item ${(id * 7919) % 300}` })));
for (let request = 0; request < 40; request++) {
  timed(`request ${request}`, () => {
    const items = timed('parse', () => JSON.parse(body));
    timed('sort', () => items.sort((a, b) => a.name.localeCompare(b.name)));
    timed('hash', () => createHash('sha256').update(body).digest('hex'));
    const page = timed('render', () => items.map((item) => `<li id="${item.id}">${item.name}</li>`).join('\n'));
    timed('checksum', () => checksum(page, Math.round(200 * Number(times))));
  });
}
writeFileSync(out, JSON.stringify(events));
