// Clauses by submission: a field is the share of a clause's checks that a column's submissions fail.
const heat = at("heat");
if (heat) {
  const MOST_COLUMNS = 400;
  const asked = data.clauses.map((_, clause) => data.cases.flatMap(([, of], number) => (of === clause ? [number] : [])));
  const shownClauses = [...data.clauses.keys()].filter((clause) => asked[clause].length);
  // For each pattern of marks and each clause: how many of its checks failed, and how many were judged.
  const counts = data.patterns.map((pattern) => shownClauses.map((clause) => {
    let failed = 0;
    let judged = 0;
    for (const number of asked[clause]) {
      failed += pattern[number] === "x";
      judged += pattern[number] === "x" || pattern[number] === "+";
    }
    return [failed, judged];
  }));

  const map = at("map");
  const drawing = map.querySelector("svg");
  const shades = [...drawing.querySelectorAll("path")];
  const cursor = drawing.querySelector("rect");
  let order = "score";
  let columnsOf = [];
  let here = { row: 0, column: 0 };

  function ordered() {
    if (order === "table") return shown;
    const rank = (row) => data.percent[row] ?? -1;
    const cluster = (row) => data.cluster[row] ?? Infinity;
    return [...shown].sort((a, b) => (order === "cluster" && cluster(a) !== cluster(b) ? cluster(a) - cluster(b) : rank(a) - rank(b)) || a - b);
  }
  function sum(members, row) {
    let failed = 0;
    let judged = 0;
    for (const member of members) {
      const [bad, of] = counts[data.pattern[member]][row];
      failed += bad;
      judged += of;
    }
    return [failed, judged];
  }
  function draw() {
    const list = ordered();
    const wide = Math.max(1, Math.ceil(list.length / MOST_COLUMNS));
    columnsOf = [];
    for (let first = 0; first < list.length; first += wide) columnsOf.push(list.slice(first, first + wide));
    drawing.setAttribute("viewBox", `0 0 ${Math.max(columnsOf.length, 1)} ${shownClauses.length}`);
    const paths = shades.map(() => "");
    shownClauses.forEach((_, row) => {
      let from = 0;
      let last = -1;
      // Fields of a row that look the same are one stroke.
      for (let column = 0; column <= columnsOf.length; column += 1) {
        let shade = -1;
        if (column < columnsOf.length) {
          const [failed, judged] = sum(columnsOf[column], row);
          if (judged) shade = Math.ceil((4 * failed) / judged);
        }
        if (column && shade === last && column < columnsOf.length) continue;
        if (last >= 0) paths[last] += `M${from} ${row}h${column - from}v1H${from}z`;
        from = column;
        last = shade;
      }
    });
    shades.forEach((path, shade) => path.setAttribute("d", paths[shade]));
    map.parentElement.hidden = !list.length;
    at("cell").textContent = list.length ? (wide > 1 ? `Each column stands for ${wide} submissions.` : "") : "No submission is shown.";
    cursor.setAttribute("visibility", "hidden");
    here = { row: 0, column: 0 };
    if (table.open) tell(0);
  }
  function read(row, column) {
    if (!columnsOf[column] || !shownClauses[row] && shownClauses[row] !== 0) return;
    here = { row, column };
    const [failed, judged] = sum(columnsOf[column], row);
    cursor.setAttribute("x", column);
    cursor.setAttribute("y", row);
    cursor.setAttribute("visibility", "visible");
    const said = judged ? `${failed} of ${plural(judged, "check")} fail` : "not judged";
    at("cell").replaceChildren(
      make("bdi", {}, members(columnsOf[column])), `, ${data.clauses[shownClauses[row]]}: ${said}`,
    );
  }
  function under(event) {
    const box = drawing.getBoundingClientRect();
    const part = (value, size, count) => Math.min(count - 1, Math.max(0, Math.floor((value / size) * count)));
    read(part(event.clientY - box.top, box.height, shownClauses.length), part(event.clientX - box.left, box.width, columnsOf.length));
  }
  function pick() {
    const picked = columnsOf[here.column];
    if (picked) show({ rows: picked.join(".") });
  }
  map.addEventListener("pointermove", under);
  map.addEventListener("click", (event) => { under(event); pick(); });
  map.addEventListener("focus", () => read(here.row, here.column));
  map.addEventListener("keydown", (event) => {
    const { row, column } = here;
    const moves = {
      ArrowLeft: [row, Math.max(0, column - 1)],
      ArrowRight: [row, Math.min(columnsOf.length - 1, column + 1)],
      ArrowUp: [Math.max(0, row - 1), column],
      ArrowDown: [Math.min(shownClauses.length - 1, row + 1), column],
      Home: [row, 0],
      End: [row, columnsOf.length - 1],
    };
    if (moves[event.key]) read(...moves[event.key]);
    else if (event.key === "Enter") pick();
    else return;
    event.preventDefault();
  });
  at("rows").append(...shownClauses.map((clause) =>
    make("li", {}, button(data.clauses[clause], () => show({ clause: String(clause) })))));
  at("order").addEventListener("change", () => { order = at("order").value; draw(); });

  // --- The same as a table, made when somebody opens it ------------------------------------------

  const table = at("heat-table");
  const head = make("tr", {}, make("th", { scope: "col" }, "Submission"), ...shownClauses.map((clause) => make("th", { scope: "col", className: "n" }, data.clauses[clause])));
  const lines = make("tbody");
  const place = make("div", { className: "pager" });
  const box = make("div", { className: "scroll", tabIndex: 0 }, make("table", { className: "list" }, make("thead", {}, head), lines));
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Failed checks by clause and submission");
  table.append(make("p", { className: "soft below" }, "Failed checks, and how many were judged."), box, place);
  let first = 0;
  const turns = pager(place, (by) => tell(first + by * data.size));
  function tell(from) {
    first = from;
    const list = ordered();
    lines.replaceChildren(...list.slice(first, first + data.size).map((row) => make("tr", {},
      cells.name(row), ...counts[data.pattern[row]].map(([failed, judged]) => make("td", { className: "n" }, judged ? `${failed} of ${judged}` : "–")))));
    turns.update(first, data.size, list.length);
  }
  table.addEventListener("toggle", () => { if (table.open) tell(0); });

  heat.hidden = false;
  followers.push(draw);
}

// --- The beginning -----------------------------------------------------------------------------

// Whoever is given a link is led to what it shows; whoever comes back is where they were.
const sent = history.state === null && location.hash.startsWith("#?");
if (told() !== null) recall(told());
update(view.first);
if (sent) at("submissions").scrollIntoView();

function follow() {
  // A link to a place on the page leaves the table as it is.
  if (told() === null) return remember();
  recall(told());
  return update(view.first);
}
// Some browsers tell of an address that was changed by hand by the second of these alone.
addEventListener("popstate", follow);
addEventListener("hashchange", () => { if (history.state === null) follow(); });
