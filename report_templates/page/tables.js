// Sorts and filters the tables of the report. Texts are only ever set as text, never as HTML.
(() => {
  "use strict";
  const FOLDED_FROM = 20;
  const sections = [...document.querySelectorAll("main > section")];

  function keyOf(row, index, numeric) {
    const cell = row.cells[index];
    const text = cell.dataset.v ?? cell.textContent;
    if (!numeric) return text.toLowerCase();
    const number = parseFloat(text.replaceAll(",", ""));
    return Number.isNaN(number) ? null : number;
  }

  function compare(a, b) {
    if (a === b) return 0;
    if (a === null || a === "") return 1;
    if (b === null || b === "") return -1;
    return a < b ? -1 : 1;
  }

  function sorted(rows, index, numeric, descending) {
    const keyed = rows.map((row, place) => ({ row, place, key: keyOf(row, index, numeric) }));
    const absent = (key) => key === null || key === "";
    keyed.sort((a, b) => {
      const order = compare(a.key, b.key);
      return (descending && !absent(a.key) && !absent(b.key) ? -order : order) || a.place - b.place;
    });
    return keyed.map((item) => item.row);
  }

  function enliven(section) {
    const body = section.querySelector("tbody");
    const headings = [...section.querySelectorAll("thead th")];
    const input = section.querySelector("input");
    const output = section.querySelector("output");
    const original = [...body.rows];
    const texts = new Map(original.map((row) => [row, row.textContent.toLowerCase()]));
    let rows = original;
    let open = original.length <= FOLDED_FROM;
    let unfold = null;

    function show() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let matching = 0;
      for (const row of rows) {
        const hit = words.every((word) => texts.get(row).includes(word));
        row.hidden = !hit;
        if (hit) matching += 1;
        row.classList.toggle("folded", hit && !open && !words.length && matching > FOLDED_FROM);
      }
      output.textContent = words.length ? `${matching} of ${rows.length} rows` : `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
      if (unfold) unfold.hidden = open || words.length > 0;
    }

    function sortBy(heading, index) {
      const numeric = heading.classList.contains("n");
      const cycle = numeric ? ["descending", "ascending", "none"] : ["ascending", "descending", "none"];
      const next = cycle[(cycle.indexOf(heading.getAttribute("aria-sort")) + 1) % 3];
      for (const other of headings) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", next);
      rows = next === "none" ? original : sorted(original, index, numeric, next === "descending");
      body.append(...rows);
      show();
    }

    headings.forEach((heading, index) => {
      heading.setAttribute("aria-sort", "none");
      heading.querySelector("button").addEventListener("click", () => sortBy(heading, index));
    });
    input.addEventListener("input", show);
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      if (input.value) {
        input.value = "";
        show();
      } else {
        input.blur();
      }
      event.preventDefault();
    });
    if (!open) {
      unfold = document.createElement("button");
      unfold.type = "button";
      unfold.className = "unfold";
      unfold.textContent = `Show all ${original.length} rows`;
      unfold.addEventListener("click", () => {
        open = true;
        show();
      });
      section.querySelector(".wide").after(unfold);
    }
    if (original.length < 6) section.querySelector(".tools").remove();
    show();
  }

  // Columns may lie beyond the right edge of their box: it says so, and shades the edges that hide some.
  function watchEdges(box) {
    const scroll = box.querySelector(".scroll");
    const update = () => {
      const hidden = scroll.scrollWidth - scroll.clientWidth;
      box.classList.toggle("broad", hidden > 1);
      box.classList.toggle("hides", hidden - scroll.scrollLeft > 1);
      box.classList.toggle("moved", scroll.scrollLeft > 1);
    };
    scroll.addEventListener("scroll", update, { passive: true });
    new ResizeObserver(update).observe(scroll);
    update();
  }

  function nearest() {
    const tops = sections.map((section) => section.getBoundingClientRect().top);
    return Math.max(0, tops.findLastIndex((top) => top < 60));
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    if (event.key === "/") {
      const from = sections.slice(nearest()).concat(sections);
      const input = from.map((section) => section.querySelector("input")).find(Boolean);
      if (input) {
        input.focus();
        event.preventDefault();
      }
    } else if (event.key === "j" || event.key === "k") {
      const index = nearest() + (event.key === "j" ? 1 : -1);
      const section = sections[Math.min(Math.max(index, 0), sections.length - 1)];
      section.scrollIntoView();
    }
  }

  document.querySelectorAll("section.data").forEach(enliven);
  document.querySelectorAll(".wide").forEach(watchEdges);
  document.addEventListener("keydown", onKey);
})();
