// Holds one event stream and says what came: {names: [...]} or {live, since, signedOut}. Used by the shared worker, and by
// a page itself where there are no shared workers.
"use strict";

function openStream(address, tell) {
  const RETRY_MS = 3000;
  let state = { live: false, since: Date.now(), signedOut: false };
  let timer = 0;

  function change(live, signedOut) {
    if (live === state.live && signedOut === state.signedOut) return;
    state = { live, since: Date.now(), signedOut };
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
    const source = new EventSource(address);
    source.addEventListener("hello", () => {
      change(true, false);
      // Whatever was missed before: look at everything once.
      tell({ names: ["*"] });
    });
    source.addEventListener("changed", (event) => tell({ names: JSON.parse(event.data).names }));
    source.onerror = async () => {
      const closed = source.readyState === EventSource.CLOSED;
      change(false, closed && (await signedOut()));
      if (closed && !state.signedOut) timer = setTimeout(connect, RETRY_MS);
    };
  }

  connect();
  return { state: () => state, again: connect };
}
