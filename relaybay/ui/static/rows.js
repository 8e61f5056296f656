// Lists: one tab stop each. Arrows go from row to row, left and right through what a row offers; `j` `k` through all lists of
// a page, `h` `l` (or Shift with an arrow) to the column beside; the space bar peeks. A row is a child with an id; what has the focus in it is `data-row-main`, or else its first link.
import { rowsOf } from "./put.js";
import { tell } from "./undo.js";

const LISTS = ".cards, [data-list], #message_list .list, .rows tbody";
const STOPS = "a[href], button, summary, input:not([type=hidden]), select, textarea, [tabindex]";

const listsOf = () => [...document.querySelectorAll(LISTS)].filter((list) => !list.closest("[data-list=off]"));
const stopsOf = (row) => [...row.querySelectorAll(STOPS)].filter((one) => !one.disabled);
const mainOf = (row) => row.querySelector("[data-row-main]") || row.querySelector("a[href], button, summary");
const listOf = (element) => element?.closest?.(LISTS);
const rowOf = (element) => {
  const list = listOf(element);
  return list ? rowsOf(list).find((row) => row.contains(element)) : null;
};

// Where a peek at the row is fetched from: given at the row, or its own link where the list says `data-peek`.
export function peekOf(row) {
  if (row?.dataset.peek) return row.dataset.peek;
  return row && "peek" in row.parentElement.dataset ? mainOf(row)?.getAttribute("href") : null;
}

let lastId = "";

// The row that keys act on: the one with the focus, else the one that had it last.
export function currentRow() {
  return rowOf(document.activeElement) || (lastId ? document.getElementById(lastId) : null);
}

function arrange() {
  for (const list of listsOf()) {
    const rows = rowsOf(list);
    const current = rows.find((row) => row.contains(document.activeElement)) || rows.find((row) => row.id === list.dataset.at) || rows[0];
    for (const row of rows) {
      const main = mainOf(row);
      for (const stop of stopsOf(row)) {
        const tabindex = row === current && stop === main ? 0 : -1;
        // What is typed into stays reachable as everywhere.
        if (stop.matches("input, select, textarea")) continue;
        if (stop.tabIndex !== tabindex) stop.tabIndex = tabindex;
      }
    }
  }
}

function go(row) {
  const main = row && mainOf(row);
  if (!main) return;
  main.focus();
  row.scrollIntoView({ block: "nearest" });
}

export function step(by) {
  const row = currentRow();
  if (row && !row.contains(document.activeElement)) {
    // With the focus elsewhere the row that had it last is where one goes on.
    go(row);
    return;
  }
  // All rows of the page as one reads them: where a list ends the next one begins.
  const rows = listsOf().flatMap(rowsOf).filter((one) => one === row || (mainOf(one) && one.checkVisibility()));
  go(row ? rows[rows.indexOf(row) + by] : rows[0]);
}

// Puts the focus on the first row of the lists that fit, and gives the row.
export function chooseFirst(lists) {
  const row = [...document.querySelectorAll(lists)].flatMap(rowsOf).find(mainOf);
  go(row);
  return row;
}

function sideways(row, by) {
  const stops = stopsOf(row).filter((one) => one.checkVisibility());
  const next = stops[stops.indexOf(document.activeElement) + by];
  next?.focus();
}

// Columns stand side by side: of the next one that has cards, the card that stands nearest.
function acrossColumns(row, by) {
  const lists = [...document.querySelectorAll(".cards")];
  let at = lists.indexOf(row?.parentElement);
  if (at < 0) {
    chooseFirst(".cards");
    return;
  }
  const topOf = (one) => one.getBoundingClientRect().top;
  const far = (one) => Math.abs(topOf(one) - topOf(row));
  for (at += by; lists[at]; at += by) {
    const rows = rowsOf(lists[at]);
    if (rows.length) {
      go(rows.reduce((best, one) => (far(one) < far(best) ? one : best)));
      return;
    }
  }
  tell(`No column ${by < 0 ? "before" : "after"} this one has a card.`);
}

document.addEventListener("focusin", (event) => {
  const row = rowOf(event.target);
  if (!row) return;
  lastId = row.id;
  row.parentElement.dataset.at = row.id;
  arrange();
});

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = rowOf(event.target);
  if (!row || event.target.matches("input, textarea, select")) return;
  const rows = rowsOf(row.parentElement);
  const at = rows.indexOf(row);
  const moves = {
    ArrowDown: () => go(rows[at + 1]),
    ArrowUp: () => go(rows[at - 1]),
    Home: () => go(rows[0]),
    End: () => go(rows[rows.length - 1]),
    ArrowRight: () => (event.shiftKey && row.matches(".card") ? acrossColumns(row, 1) : sideways(row, 1)),
    ArrowLeft: () => (event.shiftKey && row.matches(".card") ? acrossColumns(row, -1) : sideways(row, -1)),
    " ": () => document.querySelector("[data-act=peek]")?.click(),
  };
  const move = moves[event.key];
  if (!move || (event.key === " " && event.target !== mainOf(row))) return;
  if (event.key === " " && !peekOf(row)) return;
  event.preventDefault();
  move();
});

document.addEventListener("click", (event) => {
  const act = event.target.closest?.("[data-act]")?.dataset.act;
  if (act === "row-next") step(1);
  if (act === "row-previous") step(-1);
  if (act === "column-before") acrossColumns(currentRow(), -1);
  if (act === "column-next") acrossColumns(currentRow(), 1);
});
document.addEventListener("relaybay:put", arrange);
arrange();
