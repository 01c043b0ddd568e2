// The chosen row: one click or the arrow keys choose it, and its address (#s-kernels:3) finds it again.
const pageRows = (() => {
  "use strict";
  const { tables } = pageTables;
  let chosen = null;

  const tableOf = (row) => tables.get(row.closest("section").id);
  const addressOf = (row) => `${row.closest("section").id}:${tableOf(row).original.indexOf(row) + 1}`;

  function choose(row, from = "") {
    chosen?.classList.remove("target");
    chosen?.removeAttribute("tabindex");
    for (const [, table] of tables) {
      table.section.querySelector(".command").hidden = !row || tableOf(row) !== table || !row.dataset.x;
    }
    chosen = row;
    if (!row) return;
    row.classList.add("target");
    row.tabIndex = -1;
    if (from !== "address") pageState.point(addressOf(row));
    if (from !== "click") {
      row.focus({ preventScroll: true });
      row.scrollIntoView({ block: from === "address" ? "center" : "nearest" });
    }
  }

  function show(anchor) {
    const [id, place] = anchor.split(":");
    const table = tables.get(id);
    const row = table?.original[Number(place) - 1];
    if (row) {
      table.reveal(row);
      choose(row, "address");
    } else if (location.hash.includes("?")) {
      document.getElementById(anchor)?.scrollIntoView();
    }
  }

  function step(table, by) {
    const rows = table.rows.filter((row) => !row.hidden && !row.classList.contains("folded"));
    const place = rows.indexOf(chosen);
    const next = rows[place < 0 ? 0 : Math.min(Math.max(place + by, 0), rows.length - 1)];
    if (next) choose(next, "keys");
  }

  tables.forEach((table) => {
    table.body.addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (event.target.closest("a, button") || String(getSelection())) return;
      choose(row === chosen ? null : row, "click");
      if (!chosen) pageState.point(table.section.id);
    });
    table.section.querySelector(".scroll").addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("thead")) return;
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      step(table, event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
    });
  });
  pageState.onAnchor(show);
  return { chosen: () => chosen };
})();
