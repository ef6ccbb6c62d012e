performance.mark('script');
const table = document.getElementById('t');
for (let i = 0; i < 40; i++) {
  const row = table.insertRow();
  for (let j = 0; j < 6; j++) row.insertCell().textContent = (i * j).toString(36);
}
const paint = document.getElementById('c').getContext('2d');
let frame = 0;
function draw() {
  paint.fillStyle = `hsl(${frame * 20} 80% 50%)`;
  paint.fillRect(frame * 8, 10, 6, 80);
  if (++frame < 20) requestAnimationFrame(draw);
  else performance.measure('animation', 'script');
}
requestAnimationFrame(draw);
function sort(n) {
  return Array.from({ length: n }, (_, i) => (i * 7919) % n).sort((a, b) => a - b);
}
const timer = setInterval(() => {
  console.timeStamp('tick');
  sort(20000);
  if (frame >= 20) clearInterval(timer);
}, 20);
