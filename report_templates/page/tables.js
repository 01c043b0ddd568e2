// Sorts, filters and folds the tables of the report. Texts are only ever set as text, never as HTML.
const pageTables = (() => {
  "use strict";
  const SHOWN = 20; // rows of a long table
  const SHORT = 10; // tables up to this length are not folded
  const TINY = 5; // tables up to this length need no filter
  const WORD = /"([^"]*)"|(\S+)/g;

  const wordsOf = (text) => [...text.toLowerCase().matchAll(WORD)].map((found) => found[1] ?? found[2]).filter(Boolean);

  function keyOf(row, index, numeric) {
    const cell = row.cells[index];
    const text = cell.dataset.v ?? cell.textContent;
    if (!numeric) return text.toLowerCase();
    const number = parseFloat(text.replaceAll(",", ""));
    return Number.isNaN(number) ? null : number;
  }

  // Absent values come last in both directions; equal ones keep the order of the report.
  function sorted(rows, index, numeric, descending) {
    const keyed = rows.map((row, place) => ({ row, place, key: keyOf(row, index, numeric) }));
    const isAbsent = (key) => key === null || key === "";
    keyed.sort((a, b) => {
      if (a.key === b.key) return a.place - b.place;
      if (isAbsent(a.key) || isAbsent(b.key)) return isAbsent(a.key) ? 1 : -1;
      return (a.key < b.key) === descending ? 1 : -1;
    });
    return keyed.map((item) => item.row);
  }

  class PageTable {
    constructor(section) {
      this.section = section;
      this.name = section.id.slice(2);
      this.title = section.querySelector("h2, h3").textContent.toLowerCase();
      this.body = section.querySelector("tbody");
      this.headings = [...section.querySelectorAll("thead th")];
      this.keys = this.headings.map((heading) => heading.dataset.k);
      this.input = section.querySelector(".tools input");
      this.output = section.querySelector(".tools output");
      this.original = [...this.body.rows];
      this.rows = this.original;
      this.elsewhere = Number(section.dataset.total) - this.original.length;
      this.file = section.dataset.file ?? "diff.json";
      this.folds = "folds" in section.dataset && this.original.length > SHORT;
      this.opened = { all: this.original.length <= SHOWN, same: !this.folds };
      this.sortedBy = "";
      this.search = [];
      this.enliven();
    }

    enliven() {
      this.section.querySelector(".tools").hidden = false;
      this.input.hidden = this.original.length <= TINY;
      this.headings.forEach((heading, index) => {
        heading.setAttribute("aria-sort", "none");
        heading.querySelector("button").addEventListener("click", () => this.turn(index));
      });
      this.input.addEventListener("input", () => {
        pageState.set(`${this.name}.f`, this.input.value);
        this.show();
      });
      const unfold = document.createElement("div");
      unfold.className = "unfolds";
      this.buttons = Object.fromEntries(["all", "same"].map((what) => [what, this.button(what, unfold)]));
      this.section.querySelector(".wide").after(unfold);
    }

    button(what, parent) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "unfold";
      button.addEventListener("click", () => this.open(what));
      parent.append(button);
      return button;
    }

    open(what) {
      this.opened[what] = true;
      pageState.set(`${this.name}.o`, ["all", "same"].filter((part) => this.opened[part]).join());
      this.show();
    }

    // The text of each row in lower case, made when it is first asked for.
    get texts() {
      return (this.known ??= new Map(this.original.map((row) => [row, row.textContent.toLowerCase()])));
    }

    show() {
      const own = wordsOf(this.input.value);
      const all = own.concat(this.search);
      const folding = !own.length;
      const seen = { all: 0, same: 0 };
      let matching = 0;
      for (const row of this.rows) {
        const hit = !all.length || all.every((word) => this.texts.get(row).includes(word));
        if (row.hidden === hit) row.hidden = !hit;
        const what = this.folds && !all.length && row.classList.contains("same") ? "same" : "all";
        if (hit) {
          matching += 1;
          seen[what] += 1;
        }
        const folded = hit && folding && !this.opened[what] && (what === "same" || seen.all > SHOWN);
        if (row.classList.contains("folded") !== folded) row.classList.toggle("folded", folded);
      }
      this.matching = matching;
      this.section.classList.toggle("filtered", all.length > 0);
      this.say(all.length > 0, folding, seen);
      return matching;
    }

    say(filtered, folding, seen) {
      const { all, same } = this.buttons;
      const count = filtered ? say("some", this.matching, this.original.length) : countOf("row", this.original.length);
      this.output.textContent = this.elsewhere ? `${count}; ${say("only", this.elsewhere).replace("#f#", () => this.file)}` : count;
      all.textContent = say("all", seen.all);
      same.textContent = say("same", seen.same);
      all.hidden = !folding || this.opened.all || seen.all <= SHOWN;
      same.hidden = !folding || this.opened.same || !seen.same;
    }

    turn(index) {
      const numeric = this.headings[index].classList.contains("n");
      const cycle = numeric ? ["descending", "ascending", ""] : ["ascending", "descending", ""];
      const next = cycle[(cycle.indexOf(this.headings[index].getAttribute("aria-sort")) + 1) % 3];
      this.sort(index, next);
      pageState.set(`${this.name}.s`, next && this.keys[index] + (next === "descending" ? "-" : ""));
    }

    sort(index, direction) {
      const by = direction ? `${index} ${direction}` : "";
      this.headings.forEach((heading, place) =>
        heading.setAttribute("aria-sort", place === index && direction ? direction : "none"),
      );
      if (by !== this.sortedBy) {
        const numeric = index >= 0 && this.headings[index].classList.contains("n");
        this.rows = direction ? sorted(this.original, index, numeric, direction === "descending") : this.original;
        this.body.append(...this.rows);
      }
      this.sortedBy = by;
      this.show();
    }

    // Shows what the address says.
    restore() {
      this.input.value = pageState.get(`${this.name}.f`);
      const opened = pageState.get(`${this.name}.o`).split(",");
      for (const what of ["all", "same"]) this.opened[what] ||= opened.includes(what);
      const by = pageState.get(`${this.name}.s`);
      const index = this.keys.indexOf(by.replace(/-$/, ""));
      this.sort(index, index < 0 ? "" : by.endsWith("-") ? "descending" : "ascending");
    }

    // Makes a row visible, whatever hides it.
    reveal(row) {
      this.section.classList.remove("unmatched");
      if (row.hidden) {
        this.input.value = "";
        this.search = [];
        pageState.set(`${this.name}.f`, "");
        this.show();
      }
      if (row.classList.contains("folded")) this.open(row.classList.contains("same") && this.folds ? "same" : "all");
    }
  }

  const sections = [...document.querySelectorAll("section.data")];
  const tables = new Map(sections.map((section) => [section.id, new PageTable(section)]));
  pageState.onChange(() => tables.forEach((table) => table.restore()));
  return { tables, wordsOf };
})();
