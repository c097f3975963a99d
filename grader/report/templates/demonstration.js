// Links to the examples become tabs: one example is seen at a time.
const list = document.getElementById("pick");
if (list) {
  const tabs = [...list.querySelectorAll("a")];
  const panels = tabs.map((tab) => document.getElementById(tab.hash.slice(1)));
  list.setAttribute("role", "tablist");
  tabs.forEach((tab, at) => {
    tab.parentElement.setAttribute("role", "presentation");
    tab.setAttribute("role", "tab");
    tab.id = `tab-${at + 1}`;
    tab.setAttribute("aria-controls", panels[at].id);
    panels[at].setAttribute("role", "tabpanel");
    panels[at].setAttribute("aria-labelledby", tab.id);
  });

  function choose(chosen) {
    tabs.forEach((tab, at) => {
      tab.setAttribute("aria-selected", String(at === chosen));
      panels[at].hidden = at !== chosen;
    });
  }
  const told = () => Math.max(0, panels.findIndex((panel) => `#${panel.id}` === location.hash));
  function pick(at) {
    choose(at);
    tabs[at].focus();
    // A link to the page as it is seen, and no step in the way back.
    history.replaceState(null, "", tabs[at].hash);
  }
  list.addEventListener("click", (event) => {
    const at = tabs.indexOf(event.target.closest("a"));
    if (at < 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    pick(at);
  });
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(event.target);
    const last = tabs.length - 1;
    const goes = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at === 0 ? last : at - 1,
      Home: 0,
      End: last,
      " ": at,
    };
    if (at < 0 || !(event.key in goes) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    pick(goes[event.key]);
  });
  addEventListener("hashchange", () => choose(told()));
  choose(told());
}
