// Dialogs: the palette, the list of keys, the peek. What stands in them comes from the server each time.
import { meantBy, press } from "./keys.js";
import { adopt } from "./live.js";
import { currentRow, peekOf } from "./rows.js";

const palette = document.getElementById("palette");
const keys = document.getElementById("keys-dialog");
const peek = document.getElementById("peek-dialog");
const field = document.getElementById("palette-q");
const TYPING_MS = 60;

async function fetchInto(address, fragment, place) {
  const url = new URL(address, location.href);
  url.searchParams.set("fragment", fragment);
  const answer = await fetch(url, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (!answer.ok) return false;
  await htmx.swap({ text: await answer.text(), target: place, sourceElement: place, swap: "outerMorph" });
  document.dispatchEvent(new CustomEvent("relaybay:put"));
  return true;
}

// Only what can be done on this page is offered on it; on the pages of their own everything stands. A sheet lies over the
// page, so what is on it is asked for from the moment before.
let here = new Set();
function rememberWhatIsHere() {
  here = new Set();
  for (const one of document.querySelectorAll("[data-hotkey]")) {
    if (one.checkVisibility()) here.add(one.dataset.hotkey);
  }
}

function hideWhatIsNotHere(sheet) {
  for (const one of sheet.querySelectorAll("[data-run]")) {
    (one.closest("[data-run-row]") || one).hidden = !one.hasAttribute("href") && !here.has(one.dataset.run);
  }
  for (const group of sheet.querySelectorAll("section, [role=group]")) {
    group.hidden = ![...group.querySelectorAll(".run, [role=option]")].some((one) => {
      const row = one.closest("[data-run-row]") || one;
      return !row.hidden;
    });
  }
}

// --- the palette ---

const options = () => [...palette.querySelectorAll("[role=option]:not([aria-disabled])")].filter((one) => one.checkVisibility());
const chosen = () => palette.querySelector("[aria-selected=true]");

function choose(option) {
  for (const one of palette.querySelectorAll("[aria-selected=true]")) one.setAttribute("aria-selected", "false");
  if (option) {
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", option.id);
  } else field.removeAttribute("aria-activedescendant");
}

let asked = 0;
async function look() {
  const mine = ++asked;
  const address = `${palette.dataset.page}?q=${encodeURIComponent(field.value)}`;
  const url = new URL(address, location.href);
  url.searchParams.set("fragment", "palette_results");
  const answer = await fetch(url, { cache: "no-store" });
  if (!answer.ok || mine !== asked) return;
  const place = document.getElementById("palette_results");
  await htmx.swap({ text: await answer.text(), target: place, sourceElement: place, swap: "outerMorph" });
  hideWhatIsNotHere(palette);
  choose(options()[0]);
}

async function openPalette() {
  rememberWhatIsHere();
  field.value = "";
  palette.showModal();
  field.focus();
  await look();
}

let typing = 0;
field?.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(look, TYPING_MS);
});
palette?.addEventListener("keydown", (event) => {
  const all = options();
  const at = all.indexOf(chosen());
  if (event.key === "ArrowDown") choose(all[(at + 1) % all.length]);
  else if (event.key === "ArrowUp") choose(all[(at - 1 + all.length) % all.length]);
  else if (event.key === "Enter") chosen()?.click();
  // A search field would only be emptied by the first one.
  else if (event.key === "Escape") palette.close();
  else return;
  event.preventDefault();
});
palette?.querySelector("form").addEventListener("submit", (event) => event.preventDefault());

// --- entries that run ---

function runIn(sheet, event) {
  const entry = event.target.closest("[data-run]");
  if (!entry) return;
  event.preventDefault();
  const before = returnTo;
  sheet.close();
  before?.focus({ preventScroll: true });
  const meant = meantBy(entry.dataset.run);
  if (meant) press(meant);
  else if (entry.href) location.assign(entry.href);
}

let returnTo = null;
for (const sheet of [palette, keys, peek].filter(Boolean)) {
  sheet.addEventListener("click", (event) => {
    if (event.target === sheet) sheet.close();
    else runIn(sheet, event);
  });
  sheet.addEventListener("toggle", (event) => {
    if (event.newState === "closed" && returnTo?.isConnected) returnTo.focus({ preventScroll: true });
  });
}
document.querySelector("main")?.addEventListener("click", (event) => {
  const entry = event.target.closest("main .keys [data-run], main .found [data-run]:not([href])");
  const meant = entry && !entry.hasAttribute("href") && meantBy(entry.dataset.run);
  if (meant) press(meant);
});

async function openKeys() {
  rememberWhatIsHere();
  if (await fetchInto(keys.dataset.page, "keys", document.getElementById("keys"))) {
    hideWhatIsNotHere(keys);
    keys.showModal();
    keys.querySelector(".run:not([hidden])")?.focus();
  }
}

async function openPeek() {
  const row = currentRow() || document.querySelector(".card");
  const address = peekOf(row);
  if (!address) return;
  const place = peek.querySelector("#peek-place, #peek");
  peek.dataset.page = address;
  if (!(await fetchInto(address, row.dataset.peekFragment || "peek", place))) return;
  returnTo = row.querySelector("[data-row-main], a[href]");
  const opened = peek.firstElementChild;
  if (opened.dataset.live) adopt(opened);
  peek.showModal();
}
peek?.addEventListener("close", () => {
  // What is closed is not kept in step any more.
  const place = document.createElement("div");
  place.id = "peek-place";
  peek.firstElementChild.replaceWith(place);
});

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a[data-hotkey]");
  const act = event.target.closest("[data-act]")?.dataset.act;
  const sheet = link?.dataset.hotkey.startsWith("?") ? keys : link?.dataset.hotkey.startsWith("Control+k") ? palette : null;
  if (!sheet && act !== "peek") return;
  event.preventDefault();
  if (sheet) returnTo = document.activeElement === link ? link : document.activeElement;
  if (sheet === keys) openKeys();
  else if (sheet === palette) openPalette();
  else openPeek();
});
