"use strict";
for (const button of document.querySelectorAll("button.copy")) {
  const code = button.closest(".code").querySelector("code");
  const label = button.firstChild;
  button.hidden = false;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    let copied = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      // Pages that are opened from a file may have no clipboard; the old way works there, on what is shown.
      code.closest("details")?.setAttribute("open", "");
      getSelection().selectAllChildren(code);
      copied = document.execCommand("copy");
    }
    label.textContent = copied ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { label.textContent = "Copy"; }, 2000);
  });
}
// Paper can't unfold what is folded; text that is there to be run is of no use on it.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("main details:not([open])")].filter((part) => !part.closest(".code"));
  for (const part of opened) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of opened) part.open = false;
});
