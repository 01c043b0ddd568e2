// One search over all tables and sections: rows that have all words, sections that have them anywhere else.
(() => {
  "use strict";
  const box = document.querySelector("search.search");
  const input = box.querySelector("input");
  const output = box.querySelector("output");
  const main = document.querySelector("main");
  const { tables, wordsOf } = pageTables;
  const others = [...main.querySelectorAll(":scope > :is(section, .first):not(.data)")];
  const links = [...document.querySelectorAll("nav a[href^='#']")];
  let texts = null;

  function textOf(section) {
    texts ??= new Map(others.map((other) => [other, other.textContent.toLowerCase()]));
    return texts.get(section);
  }

  function search() {
    const words = wordsOf(input.value);
    const found = { rows: 0, tables: 0, elsewhere: 0 };
    for (const [, table] of tables) {
      // A table whose title has the words is found as a whole.
      table.search = words.every((word) => table.title.includes(word)) ? [] : words;
      const matching = table.show();
      table.section.classList.toggle("unmatched", words.length > 0 && !matching);
      found.rows += matching;
      found.tables += matching > 0;
      found.elsewhere += table.elsewhere;
    }
    let sections = 0;
    for (const section of others) {
      const hit = !words.length || words.every((word) => textOf(section).includes(word));
      section.classList.toggle("unmatched", !hit);
      sections += hit;
    }
    for (const link of links) {
      const target = document.getElementById(link.hash.slice(1));
      link.closest("li")?.classList.toggle("unmatched", Boolean(target?.closest(".unmatched")));
    }
    document.body.classList.toggle("searching", words.length > 0);
    output.textContent = words.length ? told(found, sections) : "";
  }

  function told(found, sections) {
    const parts = [countOf("row", found.rows), countOf("table", found.tables)].join(", ");
    const said = found.rows || sections ? parts : say("nothing");
    return found.elsewhere ? `${said}; ${say("elsewhere", found.elsewhere)}` : said;
  }

  input.addEventListener("input", () => {
    pageState.set("q", input.value);
    search();
    if (main.getBoundingClientRect().top < 0) main.scrollIntoView();
  });
  pageState.onChange(() => {
    const wanted = pageState.get("q");
    if (wanted === input.value) return;
    input.value = wanted;
    search();
  });
  box.hidden = false;
})();
