const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);
const total = data.href.length;
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const signs = { passed: "✓", failed: "✗", not_loadable: "!", grader_fault: "?", violated: "✗ ", suspicious: "! " };
const tones = { passed: "good", failed: "bad", not_loadable: "warn", grader_fault: "calm", violated: "bad", suspicious: "warn" };

function make(tag, about = {}, ...children) {
  const element = Object.assign(document.createElement(tag), about);
  element.append(...children);
  return element;
}
function button(text, action, about = {}) {
  const made = make("button", { type: "button", ...about }, text);
  made.addEventListener("click", action);
  return made;
}
const plural = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;

// --- The submissions ---------------------------------------------------------------------------

const id = (row) => data.id[row] || data.href[row];
const name = (row) => data.name[row] || data.href[row];
const reason = (row) => data.reasons[data.reason[row]];
const adjusted = (row) => data.reasons[data.adjusted[row]];
const marks = (row) => data.patterns[data.pattern[row]];

function points(value) {
  if (value === null) return "–";
  const text = Math.abs(value).toFixed(4).replace(/\.?0+$/, "");
  return (value < 0 && text !== "0" ? "−" : "") + text;
}
const columns = {
  name, id, reason,
  status: (row) => data.status_words[data.status[row]],
  score: (row) => data.score[row],
  failed: (row) => (data.judged[row] ? data.failed[row] : null),
  policy: (row) => data.policy[row],
  handed_in: (row) => data.handed_in[row],
  seconds: (row) => data.seconds[row],
};
const heads = [...at("table").tHead.rows[0].cells];
const shownColumns = heads.map((head) => head.dataset.sort);

function link(folder, row, ...inside) {
  return make("a", { href: `${folder}/${encodeURIComponent(data.href[row])}.html` }, ...inside);
}
const soft = (...texts) => make("span", { className: "soft" }, ...texts);
// Long ids are of several words.
const broken = (text) => text.split(/(?<=[_.-])/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));
const cells = {
  name: (row) => make("th", { scope: "row" }, link("teacher", row, make("bdi", {}, ...broken(name(row))))),
  id: (row) => make("td", { className: "id" }, link("students", row, ...broken(id(row)))),
  undefined: (row) => make("td", {}, link("students", row, "open")),
  status: (row) => make("td", { className: tones[data.status[row]] }, `${signs[data.status[row]]} ${columns.status(row)}`),
  score: (row) => make("td", { className: "n" }, points(data.score[row])),
  reason: (row) => make("td", {}, reason(row), ...(adjusted(row) ? [" ", soft(...broken(adjusted(row)))] : [])),
  failed: (row) => make("td", { className: "n" }, ...(data.judged[row] ? [`${data.failed[row]} `, soft(`/ ${data.judged[row]}`)] : ["–"])),
  policy: (row) => make("td", { className: tones[data.policy[row]] ?? "" }, (signs[data.policy[row]] ?? "") + data.policy[row]),
  handed_in: (row) => make("td", { className: "when" }, data.handed_in[row]),
  seconds: (row) => make("td", { className: "n" }, data.seconds[row].toFixed(3)),
};

// --- Which of them are shown -------------------------------------------------------------------

// What the address may say; `rows` are those of a field of the heat map, by their numbers with dots between.
const nothing = { words: "", status: "", policy: "", group: "", clause: "", case: "", low: "", high: "", rows: "" };
const view = { ...nothing, sort: "", down: false, first: 0, size: data.size };
const rows = [...data.href.keys()];
let shown = rows;
const followers = [];

const failing = (test) => {
  const fails = data.patterns.map((pattern) => data.cases.some(([, clause], number) => pattern[number] === "x" && test(clause, number)));
  return (row) => fails[data.pattern[row]];
};
// Several submissions, named where it is one.
function members(picked) {
  if (picked.length === 1) return name(picked[0]);
  const scores = picked.map((row) => data.score[row]).filter((score) => score !== null);
  const range = scores.length ? `, ${points(Math.min(...scores))} to ${points(Math.max(...scores))} points` : "";
  return `${picked.length} submissions${range}`;
}
const numbers = (text) => text.split(".").map(Number);
// Accents and capitals make no difference.
const folded = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
let texts = null;
// Each filter: whether it is set, its words, and the test of a row.
const filters = [
  ["words", (text) => `“${text.trim()}”`, (text) => {
    // What has a control of its own is not looked for: its words, such as "full marks", are parts of one another.
    texts ??= rows.map((row) => folded([name(row), id(row), reason(row), adjusted(row), data.handed_in[row]].join("\n")));
    const words = folded(text).split(/\s+/).filter(Boolean);
    return (row) => words.every((word) => texts[row].includes(word));
  }],
  ["status", (status) => data.status_words[status], (status) => (row) => data.status[row] === status],
  ["policy", (policy) => `helpers ${policy}`, (policy) => (row) => data.policy[row] === policy],
  ["group", (number) => data.groups[number][0], (number) => {
    const members = new Set(data.groups[number][1]);
    return (row) => members.has(row);
  }],
  ["clause", (number) => `clause ${data.clauses[number]} fails`, (number) => failing((clause) => clause === Number(number))],
  ["case", (wanted) => `check ${data.cases[wanted][0]} fails`, (wanted) => failing((_, number) => number === Number(wanted))],
  ["low", (low) => (low >= 100 ? "full marks" : `${low} % and more`), (low) => (row) => data.percent[row] !== null && data.percent[row] >= low],
  ["high", (high) => `below ${high} %`, (high) => (row) => data.percent[row] !== null && data.percent[row] < high],
  ["rows", (picked) => members(numbers(picked)), (text) => {
    const picked = new Set(numbers(text));
    return (row) => picked.has(row);
  }],
];

function sorted(chosen) {
  if (!view.sort) return chosen;
  const values = rows.map(columns[view.sort]);
  const sign = view.down ? -1 : 1;
  return chosen.sort((a, b) => {
    const [one, other] = [values[a], values[b]];
    // Rows without a figure or a text come last either way.
    const [none, alsoNone] = [one === null || one === "", other === null || other === ""];
    if (none || alsoNone) return none - alsoNone || a - b;
    return sign * (typeof one === "string" ? collator.compare(one, other) : one - other) || a - b;
  });
}

function choose() {
  const set = filters.filter(([key]) => (typeof view[key] === "string" ? view[key].trim() : view[key]));
  const tests = set.map(([key, , test]) => test(view[key]));
  shown = sorted(rows.filter((row) => tests.every((test) => test(row))));
  const said = set.map(([key, told]) => told(view[key]));
  at("shown").textContent = set.length
    ? `${shown.length} of ${plural(total, "submission")}: ${said.join("; ")}.`
    : `All ${plural(total, "submission")}.`;
  at("reset").hidden = !set.length;
  for (const follow of followers) follow();
}

// --- The table ---------------------------------------------------------------------------------

const body = at("table").tBodies[0];
function fill(chosen) {
  body.replaceChildren(...chosen.map((row) => make("tr", {}, ...shownColumns.map((key) => cells[key](row)))));
}
function turn(first) {
  view.first = Math.max(0, Math.min(first, shown.length - 1));
  view.first -= view.first % view.size;
  fill(shown.slice(view.first, view.first + view.size));
  pages.update(view.first, view.size, shown.length);
}

// Buttons through the pages of a list, and the words that say where one is.
function pager(place, go) {
  const where = make("span", { role: "status" });
  const back = button("Previous", () => go(-1));
  const next = button("Next", () => go(1));
  place.append(back, next, where);
  return {
    update(first, size, count) {
      where.textContent = count ? `${first + 1} to ${Math.min(first + size, count)} of ${count}` : "none";
      back.disabled = first === 0;
      next.disabled = first + size >= count;
      place.hidden = count <= data.size;
    },
  };
}
const pages = pager(at("pager"), (by) => { turn(view.first + by * view.size); remember(); });
const sizes = make("select", { id: "size" }, ...[data.size, 100, 500].map((size) => make("option", {}, String(size))));
sizes.addEventListener("change", () => { view.size = Number(sizes.value); turn(view.first); remember(); });
at("pager").append(make("label", { htmlFor: "size" }, "Rows on a page"), sizes);

function tellOrder() {
  heads.forEach((head) => {
    if (head.dataset.sort && head.dataset.sort === view.sort) head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}
for (const head of heads.filter((one) => one.dataset.sort)) {
  const key = head.dataset.sort;
  head.replaceChildren(button(head.textContent, () => {
    // The best come first at the first click.
    view.down = view.sort === key ? !view.down : key === "score";
    view.sort = key;
    update();
  }));
}

// --- Controls, and the address that keeps what they say ----------------------------------------

const controls = { words: at("words"), status: at("status"), policy: at("policy"), group: at("mistake"), clause: at("clause"), low: at("low"), high: at("high") };
const kept = [...Object.keys(nothing), "sort"];

// The address and the browser's history say what the table shows. A jump to other rows is a step of the history,
// so that the back button leads to where it began; typing and turning pages are none.
function remember(jump = false) {
  const said = new URLSearchParams();
  for (const key of kept) if (view[key]) said.set(key, view[key]);
  if (view.down) said.set("down", 1);
  if (view.first) said.set("first", view.first);
  if (view.size !== data.size) said.set("size", view.size);
  const text = String(said);
  // What else stands behind the # is a place on the page.
  const address = text ? `#?${text}` : jump || location.hash.startsWith("#?") ? "#submissions" : location.hash;
  const step = jump && history.state?.view !== text ? "pushState" : "replaceState";
  history[step]({ view: text }, "", address || location.href);
}
// What the step of the history says, else the address; null where neither does.
const told = () => history.state?.view ?? (location.hash.startsWith("#?") ? location.hash.slice(2) : null);
function recall(text) {
  const said = new URLSearchParams(text);
  const known = { group: data.groups, clause: data.clauses, case: data.cases, status: data.status_words, sort: columns };
  Object.assign(view, nothing, { sort: "", down: said.has("down"), first: Number(said.get("first")) || 0 });
  for (const key of kept) {
    const value = said.get(key) ?? "";
    if (!known[key] || Object.keys(known[key]).includes(value)) view[key] = value;
  }
  for (const key of ["low", "high"]) if (!Number.isFinite(Number(view[key]))) view[key] = "";
  if (!/^\d+(\.\d+)*$/.test(view.rows) || !numbers(view.rows).every((row) => row < total)) view.rows = "";
  view.size = [100, 500].find((size) => size === Number(said.get("size"))) ?? data.size;
}
function update(first = 0, jump = false) {
  for (const [key, control] of Object.entries(controls)) {
    if (!control || control.value === view[key]) continue;
    control.value = view[key];
    // A cluster, for instance, is no mistake.
    if (control.selectedIndex === -1) control.value = "";
  }
  sizes.value = String(view.size);
  tellOrder();
  choose();
  turn(first);
  remember(jump);
}
// The table with these filters and no others.
function show(wanted) {
  Object.assign(view, nothing, wanted);
  update(0, true);
  at("table").parentElement.focus({ preventScroll: true });
  at("submissions").scrollIntoView();
}
for (const [key, control] of Object.entries(controls)) {
  control?.addEventListener("input", () => {
    view[key] = control.value;
    update();
  });
}
at("reset").addEventListener("click", () => {
  Object.assign(view, nothing);
  update(0, true);
  controls.words.focus();
});
at("filters").hidden = false;
at("state").hidden = false;
for (const key of ["group", "clause", "case", "status", "policy"]) {
  for (const one of document.querySelectorAll(`button[data-${key}]`)) {
    one.hidden = false;
    one.addEventListener("click", () => show({ [key]: one.dataset[key] }));
  }
}
// Names that the page itself has no room for; of very many the table is the place.
const MOST_NAMES = 100;
for (const group of document.querySelectorAll("details[data-rest]")) {
  group.addEventListener("toggle", () => {
    const rest = group.querySelector("p > .soft:last-child");
    const [, members, told] = data.groups[group.dataset.rest];
    const given = group.querySelectorAll("p > a").length;
    rest.before(...members.slice(given, MOST_NAMES).flatMap((row, number) => {
      const said = told[given + number];
      return [", ", link("teacher", row, make("bdi", {}, name(row))), ...(said ? [" ", soft(said)] : [])];
    }));
    if (members.length <= MOST_NAMES) rest.remove();
    else rest.textContent = `and ${members.length - MOST_NAMES} more`;
  }, { once: true });
}
for (const bar of document.querySelectorAll("#bars li")) {
  const made = button("", () => show({ low: bar.dataset.low, high: bar.dataset.high }));
  made.append(...bar.childNodes);
  bar.append(made);
}

// --- The other tables --------------------------------------------------------------------------

for (const other of document.querySelectorAll("table.sortable")) {
  const lines = [...other.tBodies[0].rows];
  const titles = [...other.tHead.rows[0].cells];
  for (const title of titles.filter((one) => one.tagName === "TH")) {
    title.replaceChildren(button(title.textContent, () => {
      const down = title.getAttribute("aria-sort") === "ascending";
      for (const one of titles) one.removeAttribute("aria-sort");
      title.setAttribute("aria-sort", down ? "descending" : "ascending");
      const number = title.classList.contains("n");
      const keyed = lines.map((line) => {
        const { dataset, textContent } = line.cells[title.cellIndex];
        return { line, key: number ? parseFloat((dataset.value ?? textContent).replace("−", "-")) : textContent.trim() };
      });
      keyed.sort((a, b) => {
        const [none, alsoNone] = [a, b].map(({ key }) => key === "" || Number.isNaN(key));
        if (none || alsoNone) return none - alsoNone;
        return (down ? -1 : 1) * (number ? a.key - b.key : collator.compare(a.key, b.key));
      });
      other.tBodies[0].append(...keyed.map(({ line }) => line));
    }));
  }
}

// Paper can't turn pages.
addEventListener("beforeprint", () => fill(shown));
addEventListener("afterprint", () => turn(view.first));
