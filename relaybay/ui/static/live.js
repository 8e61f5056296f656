// Keeps a page in step: names of what changed come in, and the fragments that ask for them are fetched again, whole, and
// put in place by htmx's morph (put.js). No row is built here.
import { isPressed, put, whenFree, release } from "./put.js";
import { say } from "./say.js";
import { count, markNeeds, showState, tick } from "./signs.js";

const app = document.getElementById("app");
// The server gathers a burst before it tells of it; here only what is heard in one piece.
const GATHER_MS = 4;
const PAUSE_MS = 250;

const wanted = new Set();
const shown = new Map();
let timer = 0;
let fetching = null;
let nextAt = 0;

const fragments = () => document.querySelectorAll("[data-live]");
// Ages move on by themselves: they make no fragment a changed one.
const content = (element) => element.outerHTML.replace(/(<time[^>]*>)[^<]*/g, "$1");
const pageOf = (element) => element.closest("[data-page]").dataset.page;
const byId = (id) => document.getElementById(id);

function asksFor(element, names) {
  return element.dataset.live.split(" ").some((pattern) => {
    if (!pattern.endsWith("*")) return names.includes(pattern);
    const start = pattern.slice(0, -1);
    return names.some((name) => name.startsWith(start));
  });
}

function heard(names) {
  for (const element of fragments()) {
    if (names.includes("*") || asksFor(element, names)) wanted.add(element.id);
  }
  schedule();
}

function schedule() {
  if (timer || fetching || ![...wanted].some((id) => !byId(id) || isNeeded(byId(id)))) return;
  timer = setTimeout(run, Math.max(GATHER_MS, nextAt - Date.now()));
}

async function run() {
  timer = 0;
  if (fetching) return;
  fetching = refetch().finally(() => {
    fetching = null;
    nextAt = Date.now() + PAUSE_MS;
    schedule();
  });
  await fetching;
}

// A window that nobody sees keeps its title and icon; the rest is fetched when it is looked at.
const isNeeded = (element) => !document.hidden || element.id === "nav";

async function refetch(own = false) {
  const pages = new Map();
  for (const id of wanted) {
    const element = byId(id);
    if (!element) wanted.delete(id);
    else if (!isPressed(element) && isNeeded(element)) {
      wanted.delete(id);
      const page = pageOf(element);
      pages.set(page, [...(pages.get(page) || []), id]);
    }
  }
  for (const [page, ids] of pages) await fetchPage(page, ids, own);
}

async function fetchPage(page, ids, own) {
  const address = new URL(page, location.href);
  address.searchParams.set("fragment", ids.join(","));
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.ok) await putAll(ids, await answer.text(), own);
    // What it showed is gone, or its filter names something that is: the page says so.
    else if ([404, 422].includes(answer.status) && page === document.body.dataset.page) location.replace(page);
  } catch (error) {
    // The lamp says that the server does not answer; its next hello asks for everything. A fault of ours is no such thing.
    if (!(error instanceof TypeError)) throw error;
  }
}

async function putAll(ids, text, own) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const news = [];
  for (const id of ids) {
    const old = byId(id);
    const next = fresh.getElementById(id);
    if (!old || !next) continue;
    const now = content(next);
    if (now === shown.get(id)) continue;
    if (isPressed(old)) {
      wanted.add(id);
      continue;
    }
    const { added, held } = await put(old, next, own);
    if (held) shown.delete(id);
    else shown.set(id, now);
    if (added) news.push(`${added} new in ${nameOf(byId(id))}`);
  }
  afterPut(news);
}

function afterPut(news) {
  const before = count();
  const now = markNeeds();
  tick();
  expire();
  if (now > before) say(now === 1 ? "1 thing needs you" : `${now} things need you`);
  else if (news.length) say(news[0]);
  document.dispatchEvent(new CustomEvent("relaybay:put"));
}

function nameOf(element) {
  const labelled = element.getAttribute("aria-label") || byId(element.getAttribute("aria-labelledby"))?.textContent;
  return (labelled || document.querySelector("h1")?.textContent || "this page").trim().replace(/\s+/g, " ");
}

// After something that the owner did here: everything is looked at, at once, and nothing is held back.
export async function refresh() {
  while (fetching) await fetching;
  for (const element of fragments()) wanted.add(element.id);
  fetching = refetch(true).finally(() => {
    fetching = null;
    schedule();
  });
  await fetching;
}

// What opened later (a peek) is live from then on, under the page that it came from.
export function adopt(element) {
  shown.set(element.id, content(element));
}

let expiry = 0;
function expire() {
  clearTimeout(expiry);
  const ends = [...document.querySelectorAll("[data-expires]")].map((element) => ({
    id: element.closest("[data-live]")?.id,
    in: Date.parse(element.dataset.expires) - Date.now() - Number(document.body.dataset.ahead || 0),
  }));
  if (ends.length === 0) return;
  const first = ends.reduce((a, b) => (a.in < b.in ? a : b));
  expiry = setTimeout(() => {
    if (first.id) wanted.add(first.id);
    schedule();
  }, Math.max(first.in, 0) + 60);
}

function news(data) {
  if (data.names) heard(data.names);
  else showState(data);
}

function follow() {
  if (typeof SharedWorker !== "function") return openStream(app.dataset.stream, news);
  let worker;
  try {
    worker = new SharedWorker(app.dataset.worker, { name: "relaybay" });
  } catch {
    // Some browsers have them and refuse them, in private windows for one.
    return openStream(app.dataset.stream, news);
  }
  worker.port.onmessage = ({ data }) => news(data);
  worker.port.start();
  worker.port.postMessage({ stream: app.dataset.stream });
  addEventListener("pagehide", () => worker.port.postMessage({ leave: true }));
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
}

whenFree((ids) => {
  ids.forEach((id) => wanted.add(id));
  schedule();
});
document.getElementById("new-rows")?.addEventListener("click", async () => {
  const first = release();
  await refresh();
  const row = first && byId(first);
  (row?.querySelector("[data-row-main], a[href]") || byId("main")).focus({ preventScroll: false });
});
document.addEventListener("visibilitychange", schedule);
fragments().forEach((element) => shown.set(element.id, content(element)));
expire();
follow();
