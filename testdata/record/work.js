const fs = require('node:fs');
const { performance } = require('node:perf_hooks');

function fib(n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

function parse(n) {
  const text = JSON.stringify(Array.from({ length: n }, (_, i) => ({ id: i, name: `item ${i}` })));
  return JSON.parse(text).filter((x) => x.id % 3 === 0).length;
}

async function read(path) {
  const text = await fs.promises.readFile(path, 'utf8');
  return text.length;
}

async function main() {
  performance.mark('start');
  for (let i = 0; i < 5; i++) {
    fib(22 + i);
    parse(5000);
    await Promise.all([read(__filename), read(__dirname + '/work.js')]);
    await new Promise((done) => setTimeout(done, 5));
  }
  performance.mark('end');
  performance.measure('work', 'start', 'end');
}

main();
