// Puts a fetched fragment in the place of the shown one, and disturbs nobody who reads, types, selects or points in it:
// htmx's morph keeps the elements, this keeps what elements do not carry in their markup. `htmx` is the vendored script.
const LISTS = ".cards, .list, tbody, [data-list]";
const bar = document.getElementById("new-rows");
// Set by scripts or by whoever reads, never by the server's markup.
const OWN = { DETAILS: ["open"], DIALOG: ["open"] };
const SCRIPTED = ["tabindex", "draggable", "aria-busy"];

htmx.registerExtension("relaybay", {
  htmx_before_morph_attr(element, { attrName, newValue }) {
    if (OWN[element.tagName]?.includes(attrName)) return false;
    return !(SCRIPTED.includes(attrName) && newValue === null);
  },
});

let hovered = null;
let pressed = null;
const held = new Map();
let firstHeld = "";
let told = () => {};

export const isPressed = (element) => Boolean(pressed && element.contains(pressed)) || Boolean(element.querySelector(".card-moving"));

export const rowsOf = (list) => [...list.children].filter((row) => row.id);

// The lists in which somebody points or has the focus.
function busyLists() {
  const places = [hovered, document.activeElement].filter((place) => place instanceof Element && place.isConnected);
  return [...new Set(places.map((place) => place.closest(LISTS)).filter(Boolean))];
}

const pointsAtBar = () => hovered instanceof Element && bar?.contains(hovered);

// Takes rows out of `next` that would push down what somebody points at or has the focus in.
function holdBack(old, next) {
  const busy = busyLists().filter((list) => old.contains(list));
  if (busy.length === 0) return 0;
  const edges = busy.map((list) => list.getBoundingClientRect());
  let number = 0;
  for (const list of [old, ...old.querySelectorAll("*")].filter((one) => one.matches(LISTS))) {
    const { bottom } = list.getBoundingClientRect();
    const above = busy.includes(list) || edges.some((edge) => bottom <= edge.top);
    const ids = new Set(rowsOf(list).map((row) => row.id));
    const fresh = [next, ...next.querySelectorAll(LISTS)].find((one) => rowsOf(one).some((row) => ids.has(row.id)));
    if (!above || !fresh) continue;
    const rows = rowsOf(fresh);
    const last = rows.findLastIndex((row) => ids.has(row.id));
    for (const row of rows.slice(0, last).filter((one) => !document.getElementById(one.id))) {
      firstHeld ||= row.id;
      row.remove();
      number += 1;
    }
  }
  return number;
}

function showBar() {
  const number = [...held.values()].reduce((a, b) => a + b, 0);
  if (!bar) return;
  bar.hidden = number === 0;
  if (number) bar.textContent = `${number} new`;
  else firstHeld = "";
}

// The bar was pressed: nothing is held any more. Gives the first row that was.
export function release() {
  const first = firstHeld;
  held.clear();
  showBar();
  return first;
}

export function whenFree(tell) {
  told = tell;
}

let busyBefore = [];
function nobodyMoved() {
  const busy = busyLists();
  const same = busy.length === busyBefore.length && busy.every((list) => busyBefore.includes(list));
  busyBefore = busy;
  return same;
}

function look() {
  if (!pressed) told([]);
  if (held.size === 0 || pointsAtBar() || nobodyMoved()) return;
  // Fetched again: what somebody still points at is held back again.
  told([...held.keys()]);
}

// --- focus and what was typed ---

function describe(element) {
  return {
    tag: element.tagName,
    home: element.closest("[id]")?.id,
    href: element.getAttribute("href"),
    value: element.getAttribute("value"),
    name: element.getAttribute("name"),
    action: element.getAttribute("formaction") || element.form?.getAttribute("action"),
  };
}

function rememberFocus(old) {
  const element = document.activeElement;
  if (!element || element === document.body || !old.contains(element)) return null;
  const list = element.closest(LISTS);
  const rows = list ? rowsOf(list) : [];
  const at = rows.findIndex((row) => row.contains(element));
  let range = null;
  try {
    range = [element.selectionStart, element.selectionEnd];
  } catch {
    // This kind of field has no selection.
  }
  // Should its row go, the one after it gets the focus, or else the one before.
  const heirs = at < 0 ? [] : [...rows.slice(at), ...rows.slice(0, at).reverse()].map((row) => row.id);
  return { element, heirs, range, told: describe(element) };
}

function restoreFocus(focus, place) {
  if (!focus || document.activeElement === focus.element) return;
  const { element, heirs, range, told: was } = focus;
  const same = (other) => JSON.stringify(describe(other)) === JSON.stringify(was);
  const row = heirs.map((id) => document.getElementById(id)).find(Boolean);
  const heir =
    (element.isConnected && element) ||
    [...place.querySelectorAll(element.tagName)].find(same) ||
    row?.querySelector("[data-row-main], a[href], button") ||
    document.getElementById("main");
  heir.focus({ preventScroll: true });
  if (heir === element && range?.[0] != null) heir.setSelectionRange(...range);
}

function rememberTyped(old) {
  const typed = [];
  for (const field of old.querySelectorAll("textarea, select, input:not([type=hidden])")) {
    if (field.tagName === "SELECT") {
      if ([...field.options].some((one) => one.selected !== one.defaultSelected)) typed.push([field, "value", field.value]);
    } else if (field.type === "checkbox" || field.type === "radio") {
      if (field.checked !== field.defaultChecked) typed.push([field, "checked", field.checked]);
    } else if (field.value !== field.defaultValue) typed.push([field, "value", field.value]);
  }
  return typed;
}

export async function put(old, next, own) {
  const number = own ? 0 : holdBack(old, next);
  busyBefore = busyLists();
  if (number) held.set(old.id, number);
  else held.delete(old.id);
  const known = new Set([...document.querySelectorAll("[id]")].map((one) => one.id));
  const added = [next, ...next.querySelectorAll(LISTS)]
    .filter((one) => one.matches(LISTS))
    .flatMap(rowsOf)
    .filter((row) => !known.has(row.id)).length;
  const focus = rememberFocus(old);
  const typed = rememberTyped(old);
  const { scrollLeft, scrollTop } = old;
  await htmx.swap({ text: next.outerHTML, target: old, sourceElement: old, swap: "outerMorph" });
  const place = document.getElementById(old.id) || document.body;
  for (const [field, name, value] of typed) if (field.isConnected && field[name] !== value) field[name] = value;
  if (place.scrollLeft !== scrollLeft) place.scrollLeft = scrollLeft;
  if (place.scrollTop !== scrollTop) place.scrollTop = scrollTop;
  restoreFocus(focus, place);
  showBar();
  return { added: added + number, held: number > 0 };
}

addEventListener("pointerover", (event) => {
  if (event.pointerType === "touch") return;
  hovered = event.target;
  if (held.size) look();
}, true);
document.documentElement.addEventListener("pointerleave", () => {
  hovered = null;
  look();
});
addEventListener("pointerdown", (event) => (pressed = event.target), true);
for (const name of ["pointerup", "pointercancel", "dragend"]) {
  addEventListener(name, () => setTimeout(() => ((pressed = null), look()), 0), true);
}
addEventListener("focusout", () => setTimeout(look, 0));
