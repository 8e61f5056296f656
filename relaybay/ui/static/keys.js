// Keys stand in the HTML: `data-hotkey` on a button, link or field (the vendored library's syntax). This installs them,
// also those that come with a fragment, and chooses among several of one key the one that is meant.
import { install, uninstall } from "./vendor/hotkey.js";
import { currentRow } from "./rows.js";

const installed = new Map();
const FIELD = "textarea, select, input:not([type=checkbox], [type=radio], [type=submit], [type=hidden])";

// Keys that a voice or a slip could press: anything without Ctrl or ⌘ (Ctrl with Alt is AltGr, a way to type).
const isLetter = (keys) => !/(Control|Meta)\+/.test(keys) || /Control\+Alt\+/.test(keys);

function parts(keys) {
  return keys.split(/,(?=.)/).filter(Boolean);
}

function wantedKeys(element) {
  const off = document.documentElement.dataset.letters === "off";
  // The space bar belongs to buttons and scrolling; rows.js takes it where a row has the focus.
  return parts(element.dataset.hotkey).filter((keys) => keys !== "Space" && !(off && isLetter(keys))).join(",");
}

function renew() {
  for (const [element, keys] of installed) {
    if (!element.isConnected || !element.dataset.hotkey || wantedKeys(element) !== keys) {
      uninstall(element);
      installed.delete(element);
    }
  }
  for (const element of document.querySelectorAll("[data-hotkey]")) {
    if (installed.has(element)) continue;
    const keys = wantedKeys(element);
    installed.set(element, keys);
    if (keys) install(element, keys);
  }
}

const isThere = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled;
const openSheet = () => document.querySelector("dialog[open]");

// Of all that have this key: in the open dialog; else of the row that has the focus, then of the page's own part.
export function meantBy(keys) {
  const wanted = parts(keys);
  const sheet = openSheet();
  const all = [...document.querySelectorAll("[data-hotkey]")].filter(
    (one) => isThere(one) && parts(one.dataset.hotkey).some((each) => wanted.includes(each)) && (!sheet || sheet.contains(one)),
  );
  const row = currentRow();
  return (
    all.find((one) => row?.contains(one)) ||
    all.find((one) => !one.closest("li[id], article[id], tr[id]") && one.closest("main")) ||
    all.find((one) => one.closest("main")) ||
    all[0]
  );
}

export function press(element) {
  if (element.matches(FIELD)) {
    element.focus();
    element.select?.();
    return;
  }
  element.click();
  // What opens to be filled in is ready to be filled in.
  if (element.tagName === "SUMMARY" && element.parentElement.open) {
    (element.parentElement.querySelector(FIELD) || element.parentElement.querySelector("button"))?.focus();
  }
}

// The library asks with the element that was installed last; it is answered for all of them, on the way down.
document.addEventListener(
  "hotkey-fire",
  (event) => {
    event.preventDefault();
    const meant = meantBy(event.target.dataset.hotkey);
    if (meant) press(meant);
  },
  true,
);
document.addEventListener("relaybay:put", renew);
document.addEventListener("relaybay:letters", renew);
renew();
