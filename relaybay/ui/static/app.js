// What the board's pages do beyond showing and sending: each part in a file of its own. Without any of it every page and
// form works.
import "./look.js";
import "./live.js";
import "./keys.js";
import "./rows.js";
import "./sheets.js";
import "./send.js";
import "./cards.js";
import "./undo.js";
import "./copy.js";
import "./follow.js";

document.documentElement.dataset.script = "on";
