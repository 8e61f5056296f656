// The one place from which a screen reader is told something unasked: one sentence in ten seconds, the newest wins.
const GAP_MS = 10_000;
const region = document.getElementById("said");
let last = -Infinity;
let waiting = "";
let timer = 0;

export function say(sentence) {
  const left = last + GAP_MS - Date.now();
  if (left > 0) {
    waiting = sentence;
    timer ||= setTimeout(() => {
      timer = 0;
      speak(waiting);
    }, left);
    return;
  }
  speak(sentence);
}

function speak(sentence) {
  last = Date.now();
  if (region) region.textContent = sentence;
}
