// Copies links and commands, and saves a table as CSV, made in the page.
(() => {
  "use strict";
  const FORMULA = /^[=+\-@\t\r]/;
  const PLAIN_NUMBER = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/;
  const SHOWN_FOR = 2000;

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return copyFromArea(text);
    }
  }

  // For browsers that refuse the clipboard to files.
  function copyFromArea(text) {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  async function copyFrom(button, text) {
    const label = button.textContent;
    if (button.dataset.busy) return;
    button.dataset.busy = "1";
    const done = await copy(text);
    button.setAttribute("aria-live", "polite");
    button.textContent = done ? say("copied") : say("uncopied");
    setTimeout(() => {
      button.textContent = label;
      delete button.dataset.busy;
    }, SHOWN_FOR);
  }

  // A spreadsheet runs a text that begins like a formula: it gets a ' in front, as in the files of --format csv.
  function cellText(text) {
    const guarded = FORMULA.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
  }

  // What a heading and its cells say of a column. Cells with a value of their own are written in full.
  function valueOf(cell, numeric) {
    if (cell.dataset.v !== undefined) return cell.dataset.v;
    const text = cell.textContent.trim();
    if (!numeric) return text;
    const number = text.replaceAll(",", "");
    return PLAIN_NUMBER.test(number) ? number : text === "—" ? "" : text;
  }

  // A term of the glossary has both in a link (terms.js).
  function nameAndDetail(cell) {
    const own = cell.querySelector(":scope > a.term") ?? cell;
    const detail = own.querySelector(":scope > small")?.textContent ?? "";
    const name = [...own.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data);
    return [name.join("").trim(), detail];
  }

  function csvOf(table) {
    const places = table.headings.map((_, index) => index);
    const shown = places.slice(1).filter((index) => getComputedStyle(table.headings[index]).display !== "none");
    const numeric = table.headings.map((heading) => heading.classList.contains("n"));
    const rows = table.rows.filter((row) => !row.hidden);
    const hasUnits = rows.some((row) => row.dataset.u !== undefined);
    const heading = (index) => table.headings[index].textContent.trim().replace(/\s+/g, " ");
    // The page shows changes in percent; the cells hold new / baseline.
    const title = (index) => (table.headings[index].dataset.k === "ratio" ? say("ratio") : heading(index));
    const lines = [[title(0), say("detail"), ...(hasUnits ? [say("unit")] : []), ...shown.map(title)]];
    for (const row of rows) {
      const values = shown.map((index) => valueOf(row.cells[index], numeric[index]));
      lines.push([...nameAndDetail(row.cells[0]), ...(hasUnits ? [row.dataset.u ?? ""] : []), ...values]);
    }
    return lines.map((line) => line.map(cellText).join(",")).join("\r\n") + "\r\n";
  }

  function save(name, text) {
    const link = document.createElement("a");
    // The mark at the beginning tells spreadsheets that the text is UTF-8.
    link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), SHOWN_FOR);
  }

  for (const [id, table] of pageTables.tables) {
    const button = (name) => table.section.querySelector(`button.${name}`);
    button("csv").addEventListener("click", () => save(`rlcompare-${table.name}.csv`, csvOf(table)));
    button("command").addEventListener("click", (event) => {
      copyFrom(event.currentTarget, pageRows.chosen()?.dataset.x ?? "");
    });
    button("link").addEventListener("click", (event) => {
      if (pageRows.chosen()?.closest("section") !== table.section) pageState.point(id);
      else pageState.write();
      copyFrom(event.currentTarget, location.href);
    });
  }
  for (const button of document.querySelectorAll("button.copy[data-x]")) {
    button.hidden = false;
    button.addEventListener("click", () => copyFrom(button, button.dataset.x));
  }
})();
