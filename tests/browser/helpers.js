// Questions about the page as it is shown. They only look, and each answers with plain data.

// A few words by which a person finds the element again.
function told(element) {
  const name = element.id ? `#${element.id}` : element.className?.baseVal ?? element.className;
  const text = (element.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 40);
  return `<${element.localName}${name ? ` ${name}` : ""}> ${text}`;
}

function isShown(element) {
  return element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
}

// What only those see who hear the page.
function isUnseen(element) {
  return Boolean(element.closest(".unseen, .skip:not(:focus)"));
}

// --- Colours -------------------------------------------------------------------------------------

function parse(colour) {
  const plain = colour.match(/^rgba?\(([^)]*)\)$/);
  const mixed = colour.match(/^color\(srgb ([^)]*)\)$/);
  if (!plain && !mixed) throw new Error(`unknown colour ${colour}`);
  const [red, green, blue, alpha = 1] = (plain ?? mixed)[1].split(/[\s,/]+/).map(Number);
  return [red, green, blue].map((part) => (mixed ? part * 255 : part)).concat(alpha);
}

function over(front, back) {
  const alpha = front[3];
  return [0, 1, 2].map((at) => front[at] * alpha + back[at] * (1 - alpha)).concat(1);
}

function ratio(one, other) {
  const [light, dark] = [one, other].map((colour) => {
    const [r, g, b] = colour.slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }).sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

// The colours behind an element: those of its ancestors, one over another, and of the canvas at last. There are
// several where a pattern is drawn.
function behind(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const { backgroundColor, backgroundImage } = getComputedStyle(at);
    const drawn = backgroundImage.match(/(rgba?|color)\([^)]*\)/g) ?? [];
    if (backgroundImage !== "none") layers.push([[0, 0, 0, 0], ...drawn.map(parse)]);
    layers.push([parse(backgroundColor)]);
  }
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  let backs = [dark ? [18, 18, 18, 1] : [255, 255, 255, 1]];
  for (const fronts of layers.reverse()) backs = fronts.flatMap((front) => backs.map((back) => over(front, back)));
  return backs;
}

// The contrast of a colour to what is behind an element, where that is poorest.
function contrast(front, element, opacity = 1) {
  return Math.min(...behind(element).map(
    (back) => ratio(over([...front.slice(0, 3), front[3] * opacity], back), back),
  ));
}

function opacityOf(element) {
  let opacity = 1;
  for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
  return opacity;
}

// How light the page is behind its texts, from 0 to 1.
function brightness() {
  return 1.05 / contrast([255, 255, 255, 1], document.body) - 0.05;
}

// Texts with too little contrast to what is behind them: WCAG 2.2, 1.4.3, and for signs 1.4.11. Also those that axe-core leaves open:
// single signs, texts that are scrolled out of sight, drawings' texts, generated ones.
function poorContrast() {
  const poor = [];
  function look(element, style, text, opacity) {
    const front = parse(element.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const found = contrast(front, element, opacity);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const sign = !/[\p{L}\p{N}]/u.test(text);
    if (found < (large || sign ? 3 : 4.5)) poor.push(`${told(element)}: ${text.slice(0, 30)} ${found.toFixed(2)}`);
  }
  for (const element of document.body.querySelectorAll("*")) {
    if (["SCRIPT", "STYLE"].includes(element.tagName) || !isShown(element) || isUnseen(element)) continue;
    const style = getComputedStyle(element);
    const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join("").trim();
    if (text) look(element, style, text, opacityOf(element));
    for (const part of ["::before", "::after"]) {
      const made = getComputedStyle(element, part);
      if (!["none", "normal", '""'].includes(made.content))
        look(element, made, made.content, opacityOf(element) * Number(made.opacity));
    }
  }
  return poor;
}

// --- Layout --------------------------------------------------------------------------------------

// What sticks out of the window, and what is cut by a box that does not scroll.
function overflowing() {
  const found = [];
  const root = document.documentElement;
  const width = root.clientWidth;
  if (root.scrollWidth > width) found.push(`the page is ${root.scrollWidth} wide in a window of ${width}`);
  for (const element of document.body.querySelectorAll("*")) {
    if (!isShown(element) || isUnseen(element) || element.closest("svg") !== null) continue;
    const style = getComputedStyle(element);
    // What ends with an ellipsis says that it was cut.
    if (style.textOverflow === "ellipsis") continue;
    if (/hidden|clip/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1)
      found.push(`cut: ${told(element)}`);
    if (/hidden|clip/.test(style.overflowY) && element.scrollHeight > element.clientHeight + 1)
      found.push(`cut below: ${told(element)}`);
    if (element.getBoundingClientRect().right <= width + 1) continue;
    let holder = element.parentElement;
    while (holder && getComputedStyle(holder).overflowX === "visible") holder = holder.parentElement;
    if (!holder || holder === document.body) found.push(`sticks out: ${told(element)}`);
  }
  return [...new Set(found)].slice(0, 12);
}

// What paper would lose: folded parts, and boxes that hold more than they show.
function cutOnPaper() {
  const found = [];
  for (const part of document.querySelectorAll("details:not([open])"))
    if (isShown(part)) found.push(`folded: ${told(part)}`);
  for (const element of document.body.querySelectorAll("*")) {
    if (!isShown(element) || isUnseen(element) || element.closest("svg") !== null) continue;
    const style = getComputedStyle(element);
    if (element.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
      found.push(`beyond the sheet: ${told(element)}`);
    if (style.overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1)
      found.push(`cut at the side: ${told(element)}`);
    if (style.overflowY !== "visible" && element.scrollHeight > element.clientHeight + 1)
      found.push(`cut below: ${told(element)}`);
  }
  return found.slice(0, 12);
}

// --- Structure -----------------------------------------------------------------------------------

function structure() {
  const all = (selector) => [...document.querySelectorAll(selector)];
  return {
    lang: document.documentElement.lang,
    title: document.title,
    headings: all("h1, h2, h3, h4, h5, h6").map((h) => [Number(h.localName[1]), h.textContent.trim()]),
    landmarks: all("header, main, footer, nav").filter((e) => e.parentElement === document.body).map((e) => e.localName),
    outside: [...document.body.children].map((e) => e.localName),
    nameless: all("section, nav, [role=group], svg[role=img], input, table").filter((e) => {
      const labels = (e.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean);
      const named = labels.map((id) => document.getElementById(id)?.textContent.trim()).join("");
      if (e.localName === "table")
        return !(e.caption?.textContent.trim() || named || e.ariaLabel || e.closest("[role=group], section, details"));
      return !(named || e.ariaLabel || (e.labels?.length ?? 0) > 0);
    }).map(told),
    // Whatever answers to a click without being made for that.
    clickable: all("[onclick], [role=button], [role=link], [tabindex]:not([tabindex='0']), div[aria-expanded]").map(told),
    untyped: all("button").filter((b) => b.type !== "button").map(told),
  };
}

// --- Keyboard ------------------------------------------------------------------------------------

const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']";

// Everything that one should get to with the Tab key, each marked by its number.
function stops() {
  return [...document.querySelectorAll(FOCUSABLE)].filter(
    (e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled,
  ).length;
}

// Where the focus is: which of the stops, and whether one can see that.
function focused() {
  const all = [...document.querySelectorAll(FOCUSABLE)].filter((e) => e.checkVisibility({ visibilityProperty: true }));
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const style = getComputedStyle(element);
  const box = element.getClientRects()[0] ?? element.getBoundingClientRect();
  const faults = [];
  const width = parseFloat(style.outlineWidth);
  if (style.outlineStyle === "none" || width < 2) faults.push("no outline");
  else if (contrast(parse(style.outlineColor), element.parentElement) < 3) faults.push("a pale outline");
  // A point of it has to be in the window and not below something else: WCAG 2.2, 2.4.11.
  const points = [[0.5, 0.5], [0.02, 0.5], [0.98, 0.5], [0.5, 0.1], [0.5, 0.9]];
  const seen = points.some(([x, y]) => {
    const hit = document.elementFromPoint(box.left + box.width * x, box.top + box.height * y);
    return hit && (element.contains(hit) || hit.contains(element) && hit.matches("label"));
  });
  if (!seen) faults.push("out of sight");
  return { at: all.indexOf(element), told: told(element), faults };
}
