// Open Perfetto's UI on a server, click through it, and record what it asks:
// node .ci/ui/record.mjs PAGES SERVER NAME FOLDER
//
// PAGES is the address of a UI made by .ci/ui/build, such as http://localhost:10000, and SERVER the port of tpconvert serve or
// trace_processor_shell. FOLDER gets NAME.json, for .ci/ui/replay, and pictures. It needs the packages playwright-core and
// protobufjs, Chromium in CHROMIUM, and in PROTOS a checkout with Perfetto's folder protos.
import {chromium} from 'playwright-core';
import protobuf from 'protobufjs';
import fs from 'node:fs';

const [pages, server, name, folder] = process.argv.slice(2);
fs.mkdirSync(folder, {recursive: true});
const root = new protobuf.Root();
root.resolvePath = (_, path) => `${process.env.PROTOS}/${path}`;
await root.load('protos/perfetto/trace_processor/trace_processor.proto');
const Stream = root.lookupType('perfetto.protos.TraceProcessorRpcStream');

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
});
const page = await (await browser.newContext({viewport: {width: 1200, height: 720}, bypassCSP: true})).newPage();
const calls = [], waiting = [];
let failed = 0, flameGraphs = 0;
const details = page.locator('.pf-details-shell').filter({visible: true}); // other tabs are hidden
page.on('pageerror', (error) => fail(`the UI fails: ${error}`));
page.on('websocket', (socket) => {
  socket.on('framesent', ({payload}) => {
    for (const m of Stream.decode(payload).msg) {
      const call = {sql: m.queryArgs?.sqlQuery ?? m.statementArgs?.sql, rows: 0};
      calls.push(call);
      waiting.push(call);
    }
  });
  let rest = Buffer.alloc(0); // a message may come in parts
  socket.on('framereceived', ({payload}) => {
    rest = Buffer.concat([rest, payload]);
    for (;;) {
      let size = 0, at = 1, byte = 128;
      for (let factor = 1; byte >= 128 && at < rest.length; factor *= 128) size += ((byte = rest[at++]) & 127) * factor;
      if (byte >= 128 || rest.length < at + size) return;
      const [m] = Stream.decode(rest.subarray(0, at + size)).msg;
      rest = rest.subarray(at + size);
      const result = m.queryResult ?? m.statementResult?.result;
      const call = waiting[0];
      if (result) {
        call.columns = result.columnNames.length || call.columns;
        for (const batch of result.batch) call.cells = (call.cells ?? 0) + batch.cells.length;
        if (result.error) call.error = result.error;
        if (!result.batch.some((batch) => batch.isLastBatch)) continue;
        call.rows = call.columns ? call.cells / call.columns : 0;
      }
      waiting.shift();
    }
  });
});

function fail(text) {
  failed++;
  console.log(`${name}: ${text}`);
}
// The texts that were drawn in canvases below a selector, such as names of slices.
const drawn = (selector) => page.evaluate((selector) =>
  [...document.querySelectorAll(`${selector} canvas`)].flatMap((canvas) => [...(window.drawnTexts.get(canvas) ?? [])]), selector);
const idle = () => page.evaluate(() => window.waitForPerfettoIdle(500)).catch((e) => console.log(`not idle: ${e}`));
async function step(title, act) {
  const before = calls.length, begun = Date.now();
  await act();
  await page.mouse.move(0, 0); // a tooltip keeps the UI busy
  await idle();
  const seconds = (Date.now() - begun) / 1000;
  if (await page.locator('.pf-flamegraph').count() > 0) {
    const texts = await drawn('.pf-flamegraph');
    if (texts[0]?.startsWith('root: ') && texts.length > 1) flameGraphs++;
    else fail(`${title} shows ${texts}, not a flame graph`);
  }
  await page.screenshot({path: `${folder}/${name}-${title}.jpg`, type: 'jpeg', quality: 60});
  const failing = calls.slice(before).filter((c) => c.error);
  console.log(`${name} ${title}: ${calls.length - before} calls, ${failing.length} fail, ${seconds.toFixed(1)} s`);
  for (const c of failing) console.log(`${c.error}: ${c.sql}`);
}

await page.addInitScript(() => {
  // After a move of the mouse, headless Chromium may never call back, and the UI would never see that it is idle.
  window.requestIdleCallback = (callback) => setTimeout(callback, 50);
  window.drawnTexts = new Map();
  const {fillText} = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function(text, ...rest) {
    if (!window.drawnTexts.has(this.canvas)) window.drawnTexts.set(this.canvas, new Set());
    window.drawnTexts.get(this.canvas).add(text);
    return fillText.call(this, text, ...rest);
  };
  localStorage.setItem('dismissedPanningHint', 'true');
  localStorage.setItem('perfettoFeatureFlags', JSON.stringify({cspAllowAnyWebsocketPort: 'OVERRIDE_TRUE'}));
});
await step('timeline', async () => {
  await page.goto(`${pages}/?testing=1#!/?rpc_port=${server}`);
  await page.getByText('YES, use loaded trace').last().click();
  await page.waitForFunction(() => window.app?.trace);
});
await step('tracks', () => page.evaluate(() => app.commands.runCommand('dev.perfetto.ExpandAllGroups')));
let slice; // the longest with arguments
await step('slice', async () => {
  slice = await page.evaluate(async () => {
    const found = await app.trace.engine.query(
      'SELECT id, ts, dur, depth, name, arg_set_id FROM slice WHERE dur > 0 ORDER BY arg_set_id IS NULL, dur DESC LIMIT 1');
    if (found.numRows() === 0) return;
    const row = found.iter({});
    const [id, ts, dur, depth] = ['id', 'ts', 'dur', 'depth'].map((column) => Number(row.get(column)));
    return {id, ts, dur, depth, name: row.get('name'), args: row.get('arg_set_id') !== null, ...(await app.trace.selection.resolveSqlEvent('slice', id))};
  });
  if (!slice) return;
  const [track, rows] = await page.evaluate(({trackUri, ts, dur, depth}) => {
    const time = {start: BigInt(ts), end: BigInt(ts) + BigInt(dur), behavior: 'focus'};
    const {currentWorkspace, tracks} = app.trace;
    const node = currentWorkspace.getTrackByUri(trackUri);
    node.reveal();
    app.trace.scrollTo({time});
    return [node.id, tracks.getTrack(trackUri).renderer.getSliceVerticalBounds(depth)];
  }, slice);
  await idle();
  await page.locator(`[id="${track}"]`).scrollIntoViewIfNeeded(); // only tracks in view are drawn
  await idle();
  const canvas = page.locator(`[id="${track}"] .pf-track__canvas`);
  const {width} = await canvas.boundingBox();
  await canvas.click({position: {x: width / 2, y: (rows.top + rows.bottom) / 2}});
});
if (slice) {
  const clicked = await page.evaluate(() => app.trace.selection.selection.eventId);
  const shown = await details.innerText();
  if (clicked !== slice.id || !shown.includes(slice.name) || slice.args && !shown.includes('Arguments')) {
    fail(`a click on slice ${slice.id}, ${slice.name}, shows slice ${clicked}: ${shown}`);
  }
  const texts = await drawn('.pf-timeline-page');
  const isName = (text) => text === slice.name || text.length > 8 && text.endsWith('…') && slice.name.startsWith(text.slice(0, -1));
  if (!texts.some(isName)) fail(`the timeline shows ${texts}, not ${slice.name}`);
}
await step('area', () => page.evaluate((trackUri) => {
  const {traceInfo, currentWorkspace, tracks, selection} = app.trace;
  const trackUris = currentWorkspace.flatTracks.map((node) => node.uri).filter((uri) => uri && tracks.getTrack(uri)).slice(0, 25);
  selection.selectArea({start: traceInfo.start, end: traceInfo.end, trackUris: [...new Set([trackUri, ...trackUris].filter(Boolean))]});
}, slice?.trackUri));
const views = details.locator('.pf-button-bar button');
for (const view of await views.allInnerTexts()) {
  await step(`area-${view.toLowerCase().replaceAll(/\W+/g, '-')}`, () => views.getByText(view, {exact: true}).click());
  if (view.includes('Flamegraph') && await page.locator('.pf-flamegraph').count() === 0) fail(`the view ${view} is empty`);
}
if (flameGraphs === 0) fail('no flame graph');
await step('query', async () => {
  await page.evaluate(() => { location.hash = '#!/query'; });
  await page.click('.cm-content');
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('SELECT name, count(*) AS n, sum(dur) AS dur FROM slice GROUP BY name ORDER BY n DESC LIMIT 20');
  await page.keyboard.press('Control+Enter');
});
await step('overview', () => page.evaluate(() => { location.hash = '#!/info'; }));
fs.writeFileSync(`${folder}/${name}.json`, JSON.stringify(calls.filter((c) => c.sql).map(({sql, rows, error}) => ({sql, rows, error})), null, 1));
await browser.close();
process.exit(failed > 0 ? 1 : 0);
