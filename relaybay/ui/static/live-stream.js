// Holds one event stream and says what came: {names: [...]} or {live, since, signedOut}. Used by the shared worker, and by
// a page itself where there are no shared workers.
"use strict";

function openStream(address, tell) {
  const RETRY_MS = 3000;
  const SIGNED_OUT_RETRY_MS = 10_000;
  let state = { live: false, since: Date.now(), signedOut: false };
  let timer = 0;
  let source = null;

  function change(live, signedOut) {
    if (live === state.live && signedOut === state.signedOut) return;
    // Logged out is a reason for not being live, and no new beginning of it.
    const since = live === state.live ? state.since : Date.now();
    state = { live, since, signedOut };
    tell(state);
  }

  async function signedOut() {
    try {
      const answer = await fetch("/inbox.json", { method: "HEAD", cache: "no-store" });
      return answer.status === 401;
    } catch {
      return false;
    }
  }

  function connect() {
    clearTimeout(timer);
    if (source) source.close();
    const mine = new EventSource(address);
    source = mine;
    mine.addEventListener("hello", () => {
      change(true, false);
      // Whatever was missed before: look at everything once.
      tell({ names: ["*"] });
    });
    mine.addEventListener("changed", (event) => tell({ names: JSON.parse(event.data).names }));
    mine.onerror = async () => {
      const closed = mine.readyState === EventSource.CLOSED;
      change(false, state.signedOut);
      if (!closed) return;
      const out = await signedOut();
      if (source !== mine) return;
      change(false, out);
      // Another tab may log in again: then this one is as good as logged in, too.
      timer = setTimeout(connect, out ? SIGNED_OUT_RETRY_MS : RETRY_MS);
    };
  }

  connect();
  return { state: () => state, again: connect };
}
