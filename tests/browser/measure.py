"""What a page is asked for that no assertion library knows: contrast as painted, what moves, what is covered, what is live."""

from __future__ import annotations

from typing import Any

_COLOURS = """
  const parse = (text) => { const found = text.match(/[\\d.]+/g).map(Number);
    const [r, g, b] = text.startsWith("color(") ? found.map((value) => value * 255) : found; return [r, g, b, found[3] ?? 1]; };
  const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map((v) => { v /= 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const over = (top, below) => top.slice(0, 3).map((value, n) => value * top[3] + below[n] * (1 - top[3]));
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.unshift(colour);
      if (colour[3] > 0.99) break;
    }
    const page = matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
    return layers.reduce((below, top) => over(top, below), page);
  };
"""

#: Contrast of every text with what it is painted on; used where axe reads a colour that is not painted (forced colours
#: leave `-webkit-text-fill-color`, which it looks at, as it was).
CONTRAST = (
    "() => {"
    + _COLOURS
    + """
  const bad = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (element.matches(":disabled, option, script, style, title, .sr")) continue;
    const style = getComputedStyle(element);
    const ink = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
    const is = ratio(parse(ink), ground(element));
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && +style.fontWeight >= 700);
    if (is < (large ? 3 : 4.5) - 0.01) bad.push(`${element.tagName} "${element.textContent.trim().slice(0, 40)}": ${is.toFixed(2)}`);
  }
  return bad;
}"""
)

_CONTROLS_SHOWN = """
  document.querySelectorAll("details").forEach((one) => (one.open = true));
  const controls = [...document.querySelectorAll("a[href], button, summary, input:not([type=hidden]), select, textarea")]
    .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !one.closest(".sr, .skip"));
  const told = (one) => `${one.localName}#${one.id}.${one.getAttribute("class") ?? ""} ` +
    `"${(one.getAttribute("aria-label") || one.textContent || one.name || "").trim().slice(0, 40)}"`;
"""

#: Controls that are lower than so many px. A link within a sentence is as high as its line, and has the others around it.
LOW = (
    "(least) => {"
    + _CONTROLS_SHOWN
    + """
  return controls.filter((one) => one.localName !== "a" || getComputedStyle(one).display !== "inline").flatMap((one) => {
    const pressed = one.matches("[type=radio], [type=checkbox]") ? one.closest("label") : one;
    const { height } = pressed.getBoundingClientRect();
    return height < least - 0.5 ? [`${told(one)}: ${Math.round(height)} px`] : [];
  });
}"""
)

#: Controls whose own line, or whose ring while they have the focus, is told from what it is drawn on by less than this
#: ratio. A control that is filled is told by its filling; lines that only part things tell nothing and are not asked.
FAINT = (
    "(least) => {"
    + _COLOURS
    + _CONTROLS_SHOWN
    + """
  const bad = [];
  const look = (what, one, line, around) => {
    if (ratio(line, around) < least - 0.01) bad.push(`${what} of ${told(one)}: ${ratio(line, around).toFixed(2)}`);
  };
  for (const one of controls) {
    const style = getComputedStyle(one);
    const around = ground(one.parentElement);
    const own = parse(style.backgroundColor);
    const line = parse(style.borderTopColor);
    const drawn = parseFloat(style.borderTopWidth) > 0 && style.borderTopStyle !== "none" && line[3] > 0;
    if (drawn && !(own[3] > 0.99 && ratio(own, around) >= least)) look("line", one, over(line, around), around);
  }
  for (const one of controls) {
    one.focus({ preventScroll: true, focusVisible: true });
    if (document.activeElement !== one) continue;
    let ring = one;
    for (let n = 0; n < 4 && ring && getComputedStyle(ring).outlineStyle === "none"; n += 1) ring = ring.parentElement;
    const style = ring && getComputedStyle(ring);
    if (!style || style.outlineStyle === "none") continue;
    const around = ground(ring.parentElement ?? ring);
    look("ring", one, over(parse(style.outlineColor), around), around);
  }
  return bad;
}"""
)

#: Whatever still moves when motion is to be reduced.
MOVING = """() => [...document.querySelectorAll("*")].flatMap((element) => [null, "::before", "::after"].map((part) => {
  const style = getComputedStyle(element, part);
  const long = (text) => Math.max(...text.split(",").map((one) => parseFloat(one) * (/ms/.test(one) ? 1 : 1000)));
  const moves = (long(style.transitionDuration) > 0.02 && style.transitionProperty !== "none")
    || (style.animationName !== "none" && long(style.animationDuration) > 0.02) || style.scrollBehavior === "smooth";
  return moves ? `${element.tagName}.${element.className}${part ?? ""}` : "";
})).filter(Boolean).concat(document.getAnimations().map((one) => `running: ${one.animationName ?? one.transitionProperty}`))"""

#: How far the page can be scrolled sideways, in px, and which elements stick out.
SIDEWAYS = """() => {
  const root = document.scrollingElement;
  const over = root.scrollWidth - root.clientWidth;
  if (over <= 0) return [];
  const inside = (element) => { for (let at = element.parentElement; at && at !== document.body; at = at.parentElement)
    if (getComputedStyle(at).overflowX !== "visible") return true; return false; };
  return [`${over} px`, ...[...document.querySelectorAll("body *")].filter((element) =>
    element.getBoundingClientRect().right > root.clientWidth + 1 && !inside(element)).slice(0, 6).map((element) =>
    `${element.tagName.toLowerCase()}#${element.id}.${element.className}: ${Math.round(element.getBoundingClientRect().right)}`)];
}"""

#: WCAG 1.4.12: the text spacing that a reader may set.
SPACING = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
    p { margin-block-end: 2em !important; }`);
  document.adoptedStyleSheets.push(sheet);
}"""

#: Controls whose own text does not fit into them.
CUT = """() => [...document.querySelectorAll("main button, main h1, main h2, main label, main summary")].filter((element) => {
  const style = getComputedStyle(element);
  return element.checkVisibility() && style.overflowY !== "visible" && style.position !== "absolute"
    && element.scrollHeight > element.clientHeight + 2;
}).map((element) => `${element.tagName} ${element.textContent.trim().slice(0, 30)}`)"""

#: The one that has the focus: whether it is in sight and nothing lies over it; and of the one before, whether anything
#: on it or around it was drawn otherwise while it had the focus.
FOCUS = """() => {
  const drawn = (one) => {
    const near = [one, ...one.querySelectorAll("*")].slice(0, 12);
    for (let at = one.parentElement, n = 0; at && n < 4; at = at.parentElement, n += 1) near.push(at);
    return near.map((at) => { const style = getComputedStyle(at);
      return [style.outlineStyle, style.outlineWidth, style.outlineColor, style.boxShadow, style.borderTopColor, style.stroke,
        style.strokeWidth, style.backgroundColor].join(" "); }).join(";");
  };
  const before = window.before;
  const ringBefore = before ? drawn(before.element) !== before.drawn : true;
  const element = document.activeElement;
  if (!element || element === document.body) return { end: true, ringBefore };
  // Of a link that runs over two lines the first is looked at.
  const box = element.getClientRects()[0] ?? element.getBoundingClientRect();
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  const at = document.elementFromPoint(x, y);
  window.stops ??= new Set();
  const end = window.stops.has(element);
  window.stops.add(element);
  window.before = { element, drawn: drawn(element) };
  return {
    end, ringBefore,
    what: `${element.localName}#${element.id} "${(element.textContent || element.name || "").trim().slice(0, 40)}"`,
    visible: box.width > 0 && box.height > 0 && x >= 0 && y >= 0 && x <= innerWidth && y <= innerHeight,
    covered: !(at && (element.contains(at) || at.contains(element) || element.closest("label")?.contains(at))),
  };
}"""

#: Regions that speak by themselves: role, politeness, words.
SPEAKING = """() => [...document.querySelectorAll("[role=status], [role=alert], [role=log], [aria-live]")].map((element) => [
  element.getAttribute("role") ?? "", element.getAttribute("aria-live") ?? "", element.id, element.textContent.trim()])"""

#: How many controls a keyboard must reach.
CONTROLS = """() => [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")].filter(
  (element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled).length"""

NODES = "() => document.querySelectorAll('*').length"


def tab_through(page: Any, most: int = 400) -> list[dict[str, Any]]:
    """Presses Tab until the focus comes back to where it was; where it was each time, with `ring` told afterwards."""
    stops: list[dict[str, Any]] = []
    for _ in range(most):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUS)
        if stops:
            stops[-1]["ring"] = found["ringBefore"]
        if found["end"]:
            break
        stops.append({**found, "ring": True})
    return stops
