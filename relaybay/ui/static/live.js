// Keeps a page in step: names of what changed come in, and the fragments that ask for them are fetched again, whole.
// No row is built here. What somebody types, selects or presses is left alone until they are done.
"use strict";

(() => {
  const me = document.currentScript;
  const lamp = document.getElementById("lamp");
  const page = document.body.dataset.page;
  const clockAhead = Date.parse(document.body.dataset.at) - Date.now();
  const GATHER_MS = 30;
  const PAUSE_MS = 250;

  // --- which fragments are to be fetched ---

  const wanted = new Set();
  const shown = new Map();
  let timer = 0;
  let fetching = false;
  let pressed = false;
  let nextAt = 0;

  const fragments = () => document.querySelectorAll("[data-live]");
  // Ages move on by themselves: they make no fragment a changed one.
  const content = (element) => element.outerHTML.replace(/(<time[^>]*>)[^<]*/g, "$1");
  const remember = (element) => shown.set(element.id, content(element));

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
    if (wanted.size === 0 || timer || fetching) return;
    timer = setTimeout(refetch, Math.max(GATHER_MS, nextAt - Date.now()));
  }

  async function refetch() {
    timer = 0;
    const ids = [...wanted].filter((id) => !isBusy(document.getElementById(id)));
    if (ids.length === 0) return;
    ids.forEach((id) => wanted.delete(id));
    const address = new URL(page, location.href);
    address.searchParams.set("fragment", ids.join(","));
    fetching = true;
    try {
      const answer = await fetch(address, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (answer.ok) put(ids, await answer.text());
      else if (answer.status === 404) location.replace(page);
    } catch {
      // The lamp says that the server does not answer; its next hello asks for everything.
    } finally {
      fetching = false;
      nextAt = Date.now() + PAUSE_MS;
      schedule();
    }
  }

  function put(ids, text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    for (const id of ids) {
      const old = document.getElementById(id);
      const next = fresh.getElementById(id);
      if (!old || !next || content(next) === shown.get(id)) continue;
      if (isBusy(old)) wanted.add(id);
      else swap(old, next);
    }
    setTitle();
    expire();
  }

  // --- what must not be disturbed ---

  function isBusy(element) {
    if (!element) return false;
    if (pressed && element.contains(pressed)) return true;
    const active = document.activeElement;
    if (active && element.contains(active) && active.matches("textarea, select, input:not([type=hidden])")) return true;
    const selection = getSelection();
    if (selection && !selection.isCollapsed && selection.containsNode(element, true)) return true;
    return [...element.querySelectorAll("textarea, input:not([type=hidden])")].some(
      (field) => field.value !== field.defaultValue,
    );
  }

  // The same thing in the new fragment: by id, else by where it leads or what it does.
  function counterpart(next, element) {
    if (!element) return null;
    if (element.id) return next.ownerDocument === document ? document.getElementById(element.id) : next.querySelector(`#${CSS.escape(element.id)}`);
    const tag = element.tagName.toLowerCase();
    const same = (other) =>
      other.getAttribute("href") === element.getAttribute("href") &&
      other.getAttribute("value") === element.getAttribute("value") &&
      (other.form ? other.form.getAttribute("action") : "") === (element.form ? element.form.getAttribute("action") : "") &&
      (other.closest("[id]") || next).id === (element.closest("[id]") || next).id;
    return [...next.querySelectorAll(tag)].find(same) || null;
  }

  function swap(old, next) {
    remember(next);
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const heirOfFocus = focused === old ? next : counterpart(next, focused);
    for (const open of old.querySelectorAll("details[id][open]")) {
      const same = next.querySelector(`#${CSS.escape(open.id)}`);
      if (same) same.open = true;
    }
    const left = old.scrollLeft;
    const top = old.scrollTop;
    old.replaceWith(document.adoptNode(next));
    if ("keepScroll" in next.dataset) {
      next.scrollLeft = left;
      next.scrollTop = top;
    }
    if (focused) (heirOfFocus || document.getElementById("main")).focus({ preventScroll: true });
  }

  // --- title, ages, what runs out ---

  function setTitle() {
    const nav = document.getElementById("nav");
    const count = nav ? Number(nav.dataset.needs) : 0;
    const plain = document.title.replace(/^\(\d+\) /, "");
    document.title = count ? `(${count}) ${plain}` : plain;
  }

  function age(seconds) {
    for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
      if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
    }
    return `${Math.max(0, Math.floor(seconds))} s`;
  }

  const secondsSince = (at) => (Date.now() + clockAhead - at) / 1000;

  function tick() {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const seconds = secondsSince(Date.parse(time.dateTime));
      const text = seconds < 1 ? "just now" : `${age(seconds)} ago`;
      if (time.textContent !== text) time.textContent = text;
    }
    showLamp();
  }

  let expiry = 0;
  function expire() {
    clearTimeout(expiry);
    const ends = [...document.querySelectorAll("[data-expires]")].map((element) => ({
      id: element.closest("[data-live]").id,
      in: -secondsSince(Date.parse(element.dataset.expires)) * 1000,
    }));
    if (ends.length === 0) return;
    const first = ends.reduce((a, b) => (a.in < b.in ? a : b));
    expiry = setTimeout(() => {
      wanted.add(first.id);
      schedule();
    }, Math.max(first.in, 0) + 60);
  }

  // --- the lamp ---

  let state = { live: false, since: Date.now(), signedOut: false };
  function showLamp() {
    if (!lamp) return;
    const since = age((Date.now() - state.since) / 1000);
    const waited = Date.now() - state.since > 1500;
    const kind = state.live ? "live" : state.signedOut ? "out" : waited ? "retrying" : "starting";
    const text = {
      live: "Live",
      starting: "Connecting",
      retrying: `Not live for ${since}, retrying`,
      out: "Logged out: run relaybay open",
    }[kind];
    lamp.hidden = false;
    lamp.className = `lamp lamp-${kind}`;
    // Told to a screen reader when the kind changes, not with every second.
    lamp.setAttribute("role", lamp.dataset.kind === kind ? "none" : "status");
    lamp.dataset.kind = kind;
    if (lamp.textContent !== text) lamp.textContent = text;
  }

  function news(data) {
    if (data.names) heard(data.names);
    else {
      state = data;
      showLamp();
    }
  }

  function follow() {
    if (typeof SharedWorker === "function") {
      const worker = new SharedWorker(me.dataset.worker, { name: "relaybay" });
      worker.port.onmessage = ({ data }) => news(data);
      worker.port.start();
      worker.port.postMessage({ stream: me.dataset.stream });
      addEventListener("pagehide", () => worker.port.postMessage({ leave: true }));
      addEventListener("pageshow", (event) => {
        if (event.persisted) location.reload();
      });
    } else {
      openStream(me.dataset.stream, news);
    }
  }

  addEventListener("pointerdown", (event) => (pressed = event.target), true);
  addEventListener("pointerup", () => setTimeout(() => ((pressed = false), schedule()), 0), true);
  addEventListener("pointercancel", () => ((pressed = false), schedule()), true);
  addEventListener("focusout", () => setTimeout(schedule, 0));
  document.addEventListener("selectionchange", () => setTimeout(schedule, 0));

  fragments().forEach(remember);
  expire();
  tick();
  setInterval(tick, 5000);
  follow();
})();
