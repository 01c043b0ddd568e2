// Definitions at hand: headings of columns and names of times show what the glossary says of them, on hover and on focus.
// For screen readers they are described by the entry itself.
(() => {
  "use strict";
  const DELAY = 350;
  const entries = new Map(); // by key of a column, or by the name of a time
  document.querySelectorAll("#s-glossary dt").forEach((term, index) => {
    const text = term.nextElementSibling;
    text.id = `g-${index}`;
    const names = term.dataset.k ? [term.dataset.k] : term.textContent.split(",").map((name) => name.trim());
    for (const name of names) entries.set(name, text);
  });
  if (!entries.size) return;

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  let timer = 0;

  function show(near, text) {
    tip.textContent = text.textContent;
    tip.hidden = false;
    const place = near.getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(place.left, document.documentElement.clientWidth - size.width - 8));
    const above = place.top - size.height - 4;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 0 ? above : place.bottom + 4) + scrollY}px`;
  }

  function hide() {
    clearTimeout(timer);
    tip.hidden = true;
  }

  // It stays while the pointer is on it, so that a magnifier can read it.
  const leave = () => {
    clearTimeout(timer);
    timer = setTimeout(() => tip.matches(":hover") || hide(), 100);
  };
  tip.addEventListener("mouseleave", leave);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("scroll", hide, { passive: true, capture: true });

  function describe(element, text) {
    element.setAttribute("aria-describedby", text.id);
    element.classList.add("term");
    element.addEventListener("mouseenter", () => {
      clearTimeout(timer);
      timer = setTimeout(() => show(element, text), DELAY);
    });
    element.addEventListener("mouseleave", leave);
    element.addEventListener("focus", () => element.matches(":focus-visible") && show(element, text));
    element.addEventListener("blur", hide);
  }

  // baseline_late_ms is the column late, @max of time.step the time step.
  const columnOf = (key) => key.replace(/^(baseline|new)_/, "").replace(/_(ms|bytes)$/, "");
  const timeOf = (name) => name.replace(/^time\./, "").replace(/@.*$/, "");

  for (const [, table] of pageTables.tables) {
    table.headings.forEach((heading, index) => {
      const text = entries.get(columnOf(table.keys[index])) ?? entries.get(timeOf(columnOf(table.keys[index])));
      if (text) describe(heading.querySelector("button"), text);
    });
  }
  for (const row of pageTables.tables.get("s-overall")?.original ?? []) {
    const cell = row.cells[0];
    const text = cell.textContent.startsWith("time.") ? entries.get(timeOf(cell.textContent.trim())) : undefined;
    if (!text) continue;
    const term = document.createElement("a");
    term.href = `#${text.id}`;
    term.append(...cell.childNodes);
    cell.append(term);
    describe(term, text);
  }
})();
