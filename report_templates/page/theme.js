// The theme of the page: the system's, light or dark, as `data-theme` of <html>. Whoever sets that attribute (the state in
// the address, say) sets the theme; the button follows.
(() => {
  "use strict";
  const root = document.documentElement;
  const button = document.querySelector("button.theme");
  const order = ["system", "light", "dark"];
  const current = () => (order.includes(root.dataset.theme) ? root.dataset.theme : "system");
  const name = () => {
    button.textContent = button.dataset[current()];
  };
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(current()) + 1) % order.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
  });
  new MutationObserver(name).observe(root, { attributeFilter: ["data-theme"] });
  name();
  button.hidden = false;
})();
