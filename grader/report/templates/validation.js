const kills = document.getElementById("kills");
if (kills) {
  const readout = document.getElementById("readout");
  const cases = [...kills.tHead.rows].find((row) => row.classList.contains("case")).cells;
  const publicMarks = [...kills.tHead.rows].find((row) => row.classList.contains("mark")).cells;
  const columns = kills.querySelectorAll("col");
  const words = { m: "killed with margin", k: "killed, but closer" };
  const frame = kills.parentElement;
  let marked = [];
  let at = null;
  readout.hidden = false;

  function part(name, about) {
    const strong = document.createElement("strong");
    strong.textContent = name;
    return about ? [strong, ` (${about})`] : [strong];
  }

  function point(event) {
    const cell = event.target.closest("tbody td");
    if (cell && cell.cellIndex >= 2) read(cell);
  }

  function read(cell) {
    const row = cell.parentElement.cells[0];
    // The heads of the first two columns are one cell.
    const head = cases[cell.cellIndex - 1];
    for (const one of marked) one.classList.remove("here");
    marked = [head, columns[cell.cellIndex], row];
    for (const one of marked) one.classList.add("here");
    at?.classList.remove("at");
    at = cell;
    at.classList.add("at");
    const said = words[cell.classList[0]] ?? "not killed";
    const seen = publicMarks[cell.cellIndex - 1].textContent ? "public" : "hidden";
    readout.replaceChildren(
      ...part(row.textContent, row.title), " — ", ...part(head.textContent, `${head.title}, ${seen}`), `: ${said}`,
    );
  }
  kills.addEventListener("pointerover", point);
  kills.addEventListener("click", point);

  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  frame.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step || event.target !== frame || event.altKey || event.ctrlKey || event.metaKey) return;
    const seen = [...kills.querySelectorAll("tbody tr:not(.group)")].filter((row) => row.offsetParent);
    if (!seen.length) return;
    event.preventDefault();
    // What is read by keyboard is also said.
    readout.setAttribute("role", "status");
    const before = seen.indexOf(at?.parentElement);
    const row = seen[before < 0 ? 0 : Math.min(Math.max(before + step[0], 0), seen.length - 1)];
    const column = before < 0 ? 2 : Math.min(Math.max(at.cellIndex + step[1], 2), row.cells.length - 1);
    const cell = row.cells[column];
    read(cell);
    // Not under the heads, which stay where they are.
    const room = frame.getBoundingClientRect(), place = cell.getBoundingClientRect();
    const top = room.top + kills.tHead.offsetHeight, left = row.cells[1].getBoundingClientRect().right;
    if (place.top < top) frame.scrollTop -= top - place.top;
    if (place.bottom > room.bottom - 20) frame.scrollTop += place.bottom - room.bottom + 20;
    if (place.left < left) frame.scrollLeft -= left - place.left;
    if (place.right > room.right - 20) frame.scrollLeft += place.right - room.right + 20;
  });

  const box = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const bodies = [...kills.tBodies];
  const rows = bodies.flatMap((body) => [...body.rows].slice(1));
  const texts = rows.map((row) => `${row.cells[0].textContent} ${row.cells[0].title}`.toLowerCase());
  box.parentElement.hidden = false;
  box.addEventListener("input", () => {
    const wanted = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, at) => {
      const fits = wanted.every((word) => texts[at].includes(word));
      row.hidden = !fits;
      count += fits;
    });
    for (const body of bodies) body.hidden = [...body.rows].slice(1).every((row) => row.hidden);
    shown.textContent = wanted.length ? `${count} of ${rows.length}` : "";
  });
}
