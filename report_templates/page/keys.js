// The keyboard, the edges of wide tables, and in the address the theme and which details are open. The last script: it starts the state.
(() => {
  "use strict";
  const sections = [...document.querySelectorAll("main > section")];
  const shown = () => sections.filter((section) => !section.classList.contains("unmatched"));

  // Columns may lie beyond the right edge of their box: it says so, and shades the edges that hide some.
  function watchEdges(box) {
    const scroll = box.querySelector(".scroll");
    const update = () => {
      const hidden = scroll.scrollWidth - scroll.clientWidth;
      box.dataset.broad = say("broad");
      box.classList.toggle("broad", hidden > 1);
      box.classList.toggle("hides", hidden - scroll.scrollLeft > 1);
      box.classList.toggle("moved", scroll.scrollLeft > 1);
    };
    scroll.addEventListener("scroll", update, { passive: true });
    new ResizeObserver(update).observe(scroll);
    new ResizeObserver(update).observe(scroll.firstElementChild);
  }

  function nearest(among) {
    const tops = among.map((section) => section.getBoundingClientRect().top);
    return Math.max(0, tops.findLastIndex((top) => top < 60));
  }

  function focusFilter() {
    const among = shown();
    const from = among.slice(nearest(among)).concat(among);
    from.map((section) => section.querySelector(".tools input:not([hidden])")).find(Boolean)?.focus();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target.matches("input[type=search]")) {
      if (!event.target.value) event.target.blur();
      event.target.value = "";
      event.target.dispatchEvent(new Event("input"));
      event.preventDefault();
    }
    if (event.target.closest("input, textarea, select")) return;
    if (event.key === "/") document.getElementById("search").focus();
    else if (event.key === "f") focusFilter();
    else if (event.key === "j" || event.key === "k") {
      const among = shown();
      const index = nearest(among) + (event.key === "j" ? 1 : -1);
      among[Math.min(Math.max(index, 0), among.length - 1)]?.scrollIntoView();
      return;
    } else return;
    event.preventDefault();
  }

  // Details by their place in their section: those that differ from how the page begins.
  const details = new Map();
  for (const each of document.querySelectorAll("main details:not(.columns)")) {
    const id = each.closest("section")?.id ?? "";
    const index = [...details.keys()].filter((key) => key.startsWith(`${id}.`)).length;
    details.set(`${id}.${index}`, { each, began: each.open });
  }
  function onToggle() {
    const turned = [...details].filter(([, { each, began }]) => each.open !== began).map(([key]) => key);
    pageState.set("d", turned.join());
  }
  pageState.onChange(() => {
    const turned = pageState.get("d").split(",");
    details.forEach(({ each, began }, key) => {
      each.open = turned.includes(key) ? !began : began;
    });
  });
  details.forEach(({ each }) => each.addEventListener("toggle", onToggle));

  // The theme is an attribute of the page (theme.js); the system's has none.
  const root = document.documentElement;
  const themes = ["light", "dark"];
  pageState.onChange(() => {
    const wanted = pageState.get("theme");
    if (themes.includes(wanted)) root.dataset.theme = wanted;
    else delete root.dataset.theme;
  });
  new MutationObserver(() => {
    pageState.set("theme", themes.includes(root.dataset.theme) ? root.dataset.theme : "");
  }).observe(root, { attributeFilter: ["data-theme"] });

  document.querySelectorAll(".wide").forEach(watchEdges);
  document.addEventListener("keydown", onKey);
  pageState.start();
})();
