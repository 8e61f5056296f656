// Cards move in three ways: `[` and `]`, the menu "Move to…", and drag and drop. All three post the form that works
// without a script, and take back what they did when asked to within a few seconds.
import { refresh } from "./live.js";
import { chooseFirst, currentRow } from "./rows.js";
import { say } from "./say.js";
import { post } from "./send.js";
import { offerUndo, tell, untell } from "./undo.js";

const cardOf = (element) => element?.closest?.(".card");
const keyOf = (card) => card.id.replace(/^card-/, "");
const titleOf = (card) => card?.querySelector("h3 a");
const columns = () => [...document.querySelectorAll(".column[data-status]")];
const statusOf = (card) => card.closest("[data-status]").dataset.status;
const wordOf = (status) => document.querySelector(`#move-menu [value="${CSS.escape(status)}"]`)?.textContent || status;
const current = () => cardOf(currentRow());

async function move(card, status, undoing = false) {
  const key = keyOf(card);
  const before = statusOf(card);
  if (status === before) return;
  const mover = document.getElementById("mover");
  const address = `/tasks/${encodeURIComponent(key)}/status`;
  const body = new URLSearchParams(new FormData(mover));
  body.set("status", status);
  const hadFocus = card.contains(document.activeElement) || document.activeElement === document.body;
  card.classList.add("sending");
  let done = false;
  try {
    done = await post(address, body);
  } catch {
    notMoved(key, before);
    return;
  } finally {
    card.classList.remove("sending");
  }
  untell();
  if (!done) {
    // The plain way shows why.
    const form = mover.cloneNode(true);
    form.action = address;
    const field = Object.assign(document.createElement("input"), { type: "hidden", name: "status", value: status });
    form.append(field);
    document.body.append(form);
    form.submit();
    return;
  }
  await refresh();
  const moved = document.getElementById(`card-${key}`);
  if (hadFocus) (titleOf(moved) || document.getElementById("main")).focus();
  const words = undoing ? `${key} is back in ${wordOf(status)}` : `${key} moved to ${wordOf(status)}`;
  say(words);
  if (!undoing) {
    offerUndo(words, () => {
      const now = document.getElementById(`card-${key}`);
      if (now && statusOf(now) !== status) tell(`${key} was moved on meanwhile, to ${wordOf(statusOf(now))}. It stays there.`);
      else if (now) move(now, before, true);
      else restore(key, before, mover);
    });
  }
}

function notMoved(key, status) {
  tell(`${key} was not moved: the server does not answer. It is still in ${wordOf(status)}.`, "fault");
}

// A card that no column shows any more comes back all the same.
async function restore(key, status, mover) {
  const body = new URLSearchParams(new FormData(mover));
  body.set("status", status);
  try {
    if (!(await post(`/tasks/${encodeURIComponent(key)}/status`, body))) tell(`${key} was not put back.`, "fault");
    else await refresh();
  } catch {
    tell(`${key} was not put back: the server does not answer.`, "fault");
  }
}

// A key that acts on a card was pressed and none is chosen: the first is, and nothing else happens to it yet.
function chooseOne() {
  const row = chooseFirst(".cards");
  tell(row ? `No card was chosen. Now ${keyOf(row)} is: press again to move it.` : "There is no card here.");
}

function shift(by) {
  const card = current();
  if (!card) {
    chooseOne();
    return;
  }
  const all = columns().map((one) => one.dataset.status);
  const next = all[all.indexOf(statusOf(card)) + by];
  if (next) move(card, next);
  else tell(`${keyOf(card)} is in the ${by < 0 ? "first" : "last"} column.`);
}

// --- the menu ---

let menuCard = null;
function openMenu(card) {
  const menu = document.getElementById("move-menu");
  if (!menu?.showPopover || !card) return false;
  menuCard = keyOf(card);
  for (const item of menu.querySelectorAll("button")) item.disabled = item.value === statusOf(card);
  menu.setAttribute("aria-label", `Move ${menuCard} to`);
  menu.showPopover();
  const at = (card.querySelector("[data-move-menu]") || card).getBoundingClientRect();
  const size = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
  menu.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - size.height - 8))}px`;
  menu.querySelector("button:not(:disabled)")?.focus();
  return true;
}

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-move-menu]");
  if (opener && !event.ctrlKey && !event.metaKey && openMenu(cardOf(opener))) event.preventDefault();
  const item = event.target.closest("#move-menu button");
  if (item && menuCard) {
    event.preventDefault();
    const card = document.getElementById(`card-${menuCard}`);
    document.getElementById("move-menu").hidePopover();
    if (card) {
      titleOf(card).focus();
      move(card, item.value);
    }
  }
  const button = event.target.closest(".card .move button[formaction]");
  if (button) {
    event.preventDefault();
    move(cardOf(button), button.value);
  }
  const act = event.target.closest("[data-act]")?.dataset.act;
  if (act === "card-before") shift(-1);
  if (act === "card-next") shift(1);
  if (act === "card-menu" && !openMenu(current())) chooseOne();
});
document.addEventListener("keydown", (event) => {
  const items = [...document.querySelectorAll("#move-menu:popover-open button:not(:disabled)")];
  const at = items.indexOf(document.activeElement);
  if (at < 0 || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  event.preventDefault();
  items[(at + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length].focus();
});

// --- drag and drop ---

let dragged = "";
function mark(column) {
  for (const one of columns()) one.classList.toggle("column-over", one === column);
}
document.addEventListener("dragstart", (event) => {
  const card = cardOf(event.target);
  if (!card || !card.draggable) return;
  dragged = keyOf(card);
  event.dataTransfer.setData("text/plain", dragged);
  event.dataTransfer.effectAllowed = "move";
  card.classList.add("card-moving");
});
document.addEventListener("dragover", (event) => {
  const column = dragged && event.target.closest?.(".column[data-status]");
  if (!column) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "move";
  mark(column);
});
document.addEventListener("drop", (event) => {
  const column = dragged && event.target.closest?.(".column[data-status]");
  const card = column && document.getElementById(`card-${dragged}`);
  if (!card) return;
  event.preventDefault();
  card.classList.remove("card-moving");
  move(card, column.dataset.status);
});
document.addEventListener("dragend", () => {
  dragged = "";
  mark(null);
  for (const card of document.querySelectorAll(".card-moving")) card.classList.remove("card-moving");
});

function ready() {
  for (const card of document.querySelectorAll(".card")) card.draggable = true;
  // A link would be dragged by itself, in its card's place.
  for (const link of document.querySelectorAll(".card a")) link.draggable = false;
}
document.addEventListener("relaybay:put", ready);
ready();
