"use strict";
const kills = document.getElementById("kills");
if (kills) {
  const readout = document.getElementById("readout");
  const cases = [...kills.tHead.rows].find((row) => row.classList.contains("case")).cells;
  const publicMarks = [...kills.tHead.rows].find((row) => row.classList.contains("mark")).cells;
  const columns = kills.querySelectorAll("col");
  const words = { m: "killed with margin", k: "killed, but closer" };
  let marked = [];
  readout.hidden = false;

  function part(name, about) {
    const strong = document.createElement("strong");
    strong.textContent = name;
    return about ? [strong, ` (${about})`] : [strong];
  }

  function read(event) {
    const cell = event.target.closest("tbody td");
    if (!cell || cell.cellIndex < 2) return;
    const row = cell.parentElement.cells[0];
    // The heads of the first two columns are one cell.
    const head = cases[cell.cellIndex - 1];
    for (const one of marked) one.classList.remove("here");
    marked = [head, columns[cell.cellIndex], row];
    for (const one of marked) one.classList.add("here");
    const said = words[cell.classList[0]] ?? "not killed";
    const seen = publicMarks[cell.cellIndex - 1].textContent ? "public" : "hidden";
    readout.replaceChildren(
      ...part(row.textContent, row.title), " — ", ...part(head.textContent, `${head.title}, ${seen}`), `: ${said}`,
    );
  }
  kills.addEventListener("pointerover", read);
  kills.addEventListener("click", read);

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
// Paper can't unfold what is folded.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const part of opened) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of opened) part.open = false;
});
