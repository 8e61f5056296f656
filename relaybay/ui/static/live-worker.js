// One stream for all tabs of a browser: it has few connections to one server, and every tab would take one.
"use strict";
importScripts("live-stream.js");

const ports = new Set();
let stream = null;

function tell(news) {
  for (const port of ports) port.postMessage(news);
}

self.onconnect = (event) => {
  const port = event.ports[0];
  port.onmessage = ({ data }) => {
    if (data.leave) {
      ports.delete(port);
      return;
    }
    ports.add(port);
    if (stream === null) {
      stream = openStream(data.stream, tell);
      return;
    }
    port.postMessage(stream.state());
    // The page may have been read before a change and have come here after it.
    port.postMessage({ names: ["*"] });
    // Whoever opens a page has logged in again.
    if (stream.state().signedOut) stream.again();
  };
};
