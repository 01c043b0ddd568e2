// Prints the first screen and the pictures, or all tables too.
(() => {
  "use strict";
  const root = document.documentElement;
  const button = document.querySelector("button.print-all");
  let opened = [];
  button.addEventListener("click", () => {
    root.dataset.print = "all";
    opened = [...document.querySelectorAll("main details:not([open], .columns)")];
    for (const details of opened) details.open = true;
    window.print();
  });
  window.addEventListener("afterprint", () => {
    delete root.dataset.print;
    for (const details of opened) details.open = false;
    opened = [];
  });
  button.hidden = false;
})();
