"use strict";
for (const button of document.querySelectorAll("button.copy")) {
  const code = button.closest(".code").querySelector("pre");
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
// What a link leads to may be folded.
const unfold = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const folded = target && target.closest("details:not([open])");
  if (folded) {
    folded.open = true;
    target.scrollIntoView();
  }
};
addEventListener("hashchange", unfold);
unfold();
// Paper can't unfold what is folded; texts that are there to be run are of no use on it, if nobody unfolded them.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const part of opened) {
    part.open = true;
    part.closest(".snippet")?.classList.add("unwanted");
  }
});
addEventListener("afterprint", () => {
  for (const part of opened) {
    part.open = false;
    part.closest(".snippet")?.classList.remove("unwanted");
  }
});
