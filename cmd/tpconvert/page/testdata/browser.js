"use strict";

// What people do with the pictures of a page, and what they see of it.

const seen = {};
function found(name, text) { seen[name] = text; }
// The browser's time is virtual and does not wait for frames, so timers take their place.
window.requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), 16);
window.ResizeObserver = class {
  constructor(resized) { this.observe = () => setTimeout(resized); }
};
const frames = () => new Promise(done => setTimeout(done, 100));

function pictureIn(selector) {
  const box = document.querySelector(selector + " .picture"), canvas = box.querySelector("canvas");
  const fire = (Event, type, x, y, more) => {
    const {left, top} = canvas.getBoundingClientRect();
    return canvas.dispatchEvent(new Event(type, {clientX: left + x, clientY: top + y, bubbles: true, cancelable: true, view: window, ...more}));
  };
  const mouse = (type, x, y) => fire(MouseEvent, type, x, y);
  box.dispatchEvent(new PointerEvent("pointerenter"));
  return {
    width: box.clientWidth,
    hover(x, y) {
      mouse("mousemove", x, y);
      return tip.hidden ? "" : tip.textContent;
    },
    click(x, y) { for (const type of ["mousemove", "mousedown", "mouseup", "click"]) mouse(type, x, y); },
    drag(from, to, y) {
      mouse("mousemove", from, y);
      mouse("mousedown", from, y);
      for (const part of [0.25, 0.5, 1]) mouse("mousemove", from + part * (to - from), y);
      mouse("mouseup", to, y);
    },
    wheel(x, y, more) { return fire(WheelEvent, "wheel", x, y, more); }, // false if the page must not scroll
    key(key) { box.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true})); },
    // Returns the hue of a pixel in degrees, or "" for grey.
    hue(x, y) {
      const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
      copy.drawImage(canvas, -x * devicePixelRatio, -y * devicePixelRatio);
      const [r, g, b, opacity] = copy.getImageData(0, 0, 1, 1).data;
      const most = Math.max(r, g, b), range = most - Math.min(r, g, b);
      if (range * opacity < 4096) return "";
      const sector = most === r ? (g - b) / range + 6 : most === g ? (b - r) / range + 2 : (r - g) / range + 4;
      return String(Math.round(sector * 60) % 360);
    },
  };
}

function run(script) {
  addEventListener("load", async () => {
    for (let tries = 0; tries < 50 && !document.querySelector(".picture"); tries++) await frames();
    await frames();
    try { await script(); } catch (error) { found("error", String(error)); }
    Object.assign(document.body.appendChild(document.createElement("pre")), {id: "found", textContent: JSON.stringify(seen)});
  });
}
