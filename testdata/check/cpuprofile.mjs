// Prints the functions of a .cpuprofile as DevTools counts their times, in ms: {name: [own, total]}. esbuild makes a script of it.
import {readFileSync} from 'node:fs';
import {CPUProfileDataModel} from 'chrome-devtools-frontend/front_end/models/cpu_profile/CPUProfileDataModel.ts';

const profile = JSON.parse(readFileSync(process.argv[2], 'utf8'));
// DevTools gives single samples of (program) to the function before them. The file tells them apart.
CPUProfileDataModel.prototype.fixMissingSamples = () => {};
const model = new CPUProfileDataModel(profile);
// DevTools also puts garbage collections on top of the stack before them.
model.gcNode = undefined;
// It takes the mean for the last sample, which lasts until the end that the file has.
model.timestamps[model.timestamps.length - 1] = profile.endTime / 1000;

const functions = {};
const nameOf = node => node.functionName || '(anonymous)';
model.forEachFrame(() => {}, (depth, node, sample, start, duration, own) => {
  const name = nameOf(node);
  const values = functions[name] ??= [0, 0];
  values[0] += own;
  let above = node.parent;
  while (above && nameOf(above) !== name) above = above.parent;
  if (!above) values[1] += duration;
});
console.log(JSON.stringify(functions));
