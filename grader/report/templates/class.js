"use strict";
const table = document.getElementById("table");
const body = table.tBodies[0];
const heads = [...table.tHead.rows[0].cells];
const rows = [...body.rows];
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
let sorted = -1;
let falling = false;

function sortBy(column, numbers) {
  falling = sorted === column ? !falling : numbers && column === 3;
  sorted = column;
  const keyed = rows.map((row, at) => {
    const text = row.cells[column].textContent.trim();
    return { row, at, text, value: numbers ? parseFloat(text.replace("−", "-")) : 0 };
  });
  const sign = falling ? -1 : 1;
  keyed.sort((a, b) => {
    if (!numbers) return sign * collator.compare(a.text, b.text) || a.at - b.at;
    // Rows without a figure come last either way.
    const none = Number.isNaN(a.value) - Number.isNaN(b.value);
    return none || (Number.isNaN(a.value) ? 0 : sign * (a.value - b.value)) || a.at - b.at;
  });
  body.append(...keyed.map((k) => k.row));
  heads.forEach((head, at) => {
    if (at === column) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}

heads.forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  button.addEventListener("click", () => sortBy(column, head.classList.contains("n")));
  head.append(button);
});

const box = document.getElementById("filter");
const shown = document.getElementById("shown");
let texts = null;
function filter() {
  texts ??= rows.map((row) => row.textContent.toLowerCase());
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  rows.forEach((row, at) => {
    const fits = words.every((word) => texts[at].includes(word));
    row.hidden = !fits;
    count += fits;
  });
  shown.textContent = words.length ? `${count} of ${rows.length}` : "";
}
if (box) {
  box.parentElement.hidden = false;
  box.addEventListener("input", filter);
}
