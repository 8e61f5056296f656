// The toast: what was just done, and how to take it back, for as long as that can be done. Above it the note: what was not
// done, and why.
import { say } from "./say.js";

const SECONDS = 5;
const NOTE_MS = { hint: 6_000, fault: 60_000 };
const note = document.getElementById("note");
const toast = document.getElementById("toast");
const button = document.getElementById("toast-undo");
const words = document.getElementById("toast-words");
let undo = null;
let timer = 0;
let offered = "";

function hide() {
  clearTimeout(timer);
  undo = null;
  // The focus must not fall into nothing.
  if (toast.contains(document.activeElement)) document.getElementById("main").focus({ preventScroll: true });
  toast.hidden = true;
  delete button.dataset.hotkey;
}

export function offerUndo(said, back, until = Date.now() + SECONDS * 1000) {
  clearTimeout(timer);
  undo = back;
  words.textContent = said;
  toast.hidden = false;
  // Only while it is there: a page may have a button of its own for the same key.
  button.dataset.hotkey = "u";
  document.dispatchEvent(new CustomEvent("relaybay:letters"));
  const wait = () => {
    // Who has the focus on it is about to press it.
    const left = until - Date.now();
    timer = left > 0 ? setTimeout(wait, left) : setTimeout(hide, 0);
  };
  wait();
}

let noteTimer = 0;

// Something was asked for that could not be done: seen by everybody, and said. A fault stays until something is done.
export function tell(sentence, kind = "hint") {
  clearTimeout(noteTimer);
  note.textContent = sentence;
  note.className = `note note-${kind}`;
  note.hidden = false;
  noteTimer = setTimeout(untell, NOTE_MS[kind]);
  say(sentence);
}

export function untell() {
  clearTimeout(noteTimer);
  note.hidden = true;
}

// A comment in its first seconds: the page has the form that withdraws it, the toast brings it to hand.
function look() {
  const held = [...document.querySelectorAll("main [data-expires]")].filter((one) => one.querySelector("form")).at(-1);
  if (!held) return;
  const ahead = Number(document.body.dataset.ahead || 0);
  const until = Date.parse(held.dataset.expires) - ahead;
  const form = held.querySelector("form");
  const id = form.getAttribute("action");
  if (id === offered || until <= Date.now()) return;
  offered = id;
  offerUndo(held.dataset.undoWords || "Comment sent. No agent sees it yet.", () => form.isConnected && form.requestSubmit(), until);
}

button.addEventListener("click", () => {
  const back = undo;
  hide();
  back?.();
});
document.addEventListener("relaybay:put", look);
look();
