// What tells at a glance: title and icon (what needs the owner), ages, and the lamp with the banner under it.
import { say } from "./say.js";

const BANNER_MS = 10_000;
const WAITED_MS = 1500;
const lamp = document.getElementById("lamp");
const banner = document.getElementById("not-live");
const icon = document.getElementById("favicon");
const ahead = Date.parse(document.body.dataset.at) - Date.now();
document.body.dataset.ahead = String(ahead);

let needs = Number(document.getElementById("nav")?.dataset.needs || 0);
export const count = () => needs;

// The count of what needs the owner, in title and icon; and a new login's token in forms that were drawn before it.
export function markNeeds() {
  const nav = document.getElementById("nav");
  if (!nav) return needs;
  needs = Number(nav.dataset.needs);
  const plain = document.title.replace(/^\(\d+\) /, "");
  const title = needs ? `(${needs}) ${plain}` : plain;
  if (document.title !== title) document.title = title;
  const address = needs ? icon.dataset.needs : icon.dataset.calm;
  if (icon.getAttribute("href") !== address) icon.setAttribute("href", address);
  for (const field of document.querySelectorAll("input[name=csrf]")) field.value = nav.dataset.csrf;
  return needs;
}

function age(seconds) {
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))} s`;
}

export function tick() {
  const selection = getSelection();
  const selecting = selection && !selection.isCollapsed;
  for (const time of document.querySelectorAll("time[datetime]")) {
    const seconds = (Date.now() + ahead - Date.parse(time.dateTime)) / 1000;
    const text = time.dataset.age === "for" ? age(seconds) : seconds < 1 ? "just now" : `${age(seconds)} ago`;
    const node = time.firstChild;
    if (!node || node.nodeValue === text || (selecting && selection.containsNode(time, true))) continue;
    node.nodeValue = text;
  }
  showLamp();
}

let state = { live: false, since: Date.now(), signedOut: false };
export function showState(next) {
  state = next;
  showLamp();
}

const clock = (at) => new Date(at).toLocaleTimeString(undefined, { hour12: false });

function showLamp() {
  const away = Date.now() - state.since;
  const kind = state.live ? "live" : state.signedOut ? "out" : away > WAITED_MS ? "retrying" : "starting";
  const text = {
    live: "Live",
    starting: "Connecting",
    retrying: `Retrying since ${clock(state.since)}`,
    out: "Logged out: run relaybay open",
  }[kind];
  const spoken = { live: "The board is live again", retrying: "The board is not live", out: "You are logged out" }[kind];
  if (lamp.dataset.kind && lamp.dataset.kind !== kind && spoken && !(kind === "live" && lamp.dataset.kind === "starting")) {
    say(spoken);
  }
  lamp.hidden = false;
  lamp.className = `lamp lamp-${kind}`;
  lamp.dataset.kind = kind;
  lamp.title = `${kind === "live" ? "Live" : "Not live"} since ${clock(state.since)}`;
  if (lamp.textContent !== text) lamp.textContent = text;
  const old = !state.live && away > BANNER_MS;
  banner.hidden = !old;
  const words = `Not live since ${clock(state.since)}: what you see may be out of date. What was missed comes by itself.`;
  if (old && banner.textContent !== words) banner.textContent = words;
}

tick();
setInterval(tick, 5000);
setTimeout(showLamp, WAITED_MS + 100);
