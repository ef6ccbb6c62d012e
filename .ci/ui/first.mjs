// Time the first picture of a trace in Perfetto's UI: node .ci/ui/first.mjs PAGES SERVER [PICTURE.jpg]
//
// PAGES and SERVER are as in record.mjs, and so is what this needs. It prints the seconds from the opening of the page until
// the UI has drawn the timeline and is idle.
import {chromium} from 'playwright-core';

const [pages, server, picture] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
});
const page = await (await browser.newContext({viewport: {width: 1200, height: 720}, bypassCSP: true})).newPage();
page.setDefaultTimeout(300_000);
await page.addInitScript(() => {
  window.requestIdleCallback = (callback) => setTimeout(callback, 50); // headless Chromium may never call back
  localStorage.setItem('perfettoFeatureFlags', JSON.stringify({cspAllowAnyWebsocketPort: 'OVERRIDE_TRUE'}));
});
const begun = Date.now();
await page.goto(`${pages}/?testing=1#!/?rpc_port=${server}`);
await page.getByText('YES, use loaded trace').last().click();
await page.waitForFunction(() => window.app?.trace);
for (let idle = false; !idle;) { // the UI gives up after a minute
  idle = await page.evaluate(() => window.waitForPerfettoIdle(500).then(() => true, () => false));
}
console.log(((Date.now() - begun) / 1000).toFixed(1));
if (picture) await page.screenshot({path: picture, type: 'jpeg', quality: 60});
await browser.close();
