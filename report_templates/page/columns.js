// Columns to choose. The first stays: it names the row.
(() => {
  "use strict";
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  const { tables } = pageTables;
  const hidden = new Map([...tables.values()].map((table) => [table, new Set()]));

  function apply() {
    const rules = [];
    for (const [table, keys] of hidden) {
      const places = table.keys.map((key, index) => (keys.has(key) ? `:nth-child(${index + 1})` : "")).filter(Boolean);
      if (places.length) rules.push(`#${CSS.escape(table.section.id)} tr > :is(${places.join()}) { display: none }`);
    }
    sheet.replaceSync(rules.join("\n"));
  }

  function build(table, fieldset) {
    table.headings.forEach((heading, index) => {
      if (!index) return;
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = !hidden.get(table).has(table.keys[index]);
      box.addEventListener("change", () => {
        hidden.get(table)[box.checked ? "delete" : "add"](table.keys[index]);
        pageState.set(`${table.name}.c`, [...hidden.get(table)].join());
        apply();
      });
      label.append(box, ` ${heading.textContent.trim().replace(/\s+/g, " ")}`);
      fieldset.append(label);
    });
  }

  for (const [table] of hidden) {
    const chooser = table.section.querySelector("details.columns");
    const fieldset = chooser.querySelector("fieldset");
    chooser.addEventListener("toggle", () => {
      fieldset.querySelectorAll("label").forEach((label) => label.remove());
      if (chooser.open) build(table, fieldset);
    });
    chooser.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      chooser.open = false;
      chooser.querySelector("summary").focus();
      event.stopPropagation();
    });
    if (table.headings.length < 3) chooser.remove();
  }
  document.addEventListener("click", (event) => {
    for (const open of document.querySelectorAll("details.columns[open]")) {
      if (!open.contains(event.target)) open.open = false;
    }
  });
  pageState.onChange(() => {
    for (const [table, keys] of hidden) {
      keys.clear();
      const wanted = pageState.get(`${table.name}.c`).split(",");
      table.keys.slice(1).filter((key) => wanted.includes(key)).forEach((key) => keys.add(key));
    }
    apply();
  });
})();
