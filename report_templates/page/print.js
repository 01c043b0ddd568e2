// Prints the first screen and the pictures, or all tables too.
(() => {
  "use strict";
  const root = document.documentElement;
  const button = document.querySelector("button.print-all");
  button.addEventListener("click", () => {
    root.dataset.print = "all";
    window.print();
  });
  window.addEventListener("afterprint", () => delete root.dataset.print);
  button.hidden = false;
})();
