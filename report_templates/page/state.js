// The state of the page, kept in its address: #ANCHOR?key=value&… Whatever stands there came from someone else: keys and
// anchors are looked up among those of the page, texts only ever become the value of an input.
const pageState = (() => {
  "use strict";
  const LONGEST = 4000;
  const PAUSE = 250; // Browsers refuse pages that change their address too often.
  const onChange = [];
  const onAnchor = [];
  let anchor = "";
  let values = new URLSearchParams();
  let timer = 0;

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return "";
    }
  }

  // Whether the address held values; without any, those in use stay: a link within the page has only an anchor.
  function read() {
    const hash = location.hash.slice(1);
    if (hash.length > LONGEST) return false;
    const [place, ...rest] = hash.split("?");
    anchor = decoded(place);
    if (!rest.length) return false;
    values = new URLSearchParams(rest.join("?"));
    return true;
  }

  function write() {
    clearTimeout(timer);
    const query = values.toString();
    try {
      history.replaceState(null, "", `#${encodeURIComponent(anchor).replaceAll("%3A", ":")}${query ? `?${query}` : ""}`);
    } catch {
      // Some viewers do not let a page change its address: then it works without.
    }
  }

  function set(key, value) {
    if (value) values.set(key, value);
    else values.delete(key);
    clearTimeout(timer);
    timer = setTimeout(write, PAUSE);
  }

  function reveal() {
    if (anchor) for (const show of onAnchor) show(anchor);
  }

  // Called once all scripts have added what they do.
  function start() {
    read();
    for (const change of onChange) change();
    reveal();
    window.addEventListener("hashchange", () => {
      if (read()) for (const change of onChange) change();
      write();
      reveal();
    });
  }

  return {
    get: (key) => values.get(key) ?? "",
    set,
    write,
    point: (place) => {
      anchor = place;
      write();
    },
    onChange: (change) => onChange.push(change),
    onAnchor: (show) => onAnchor.push(show),
    start,
  };
})();

// A text of the page's language; #i# and #j# are replaced by numbers.
function say(key, i = 0, j = 0) {
  const text = document.getElementById("words").dataset[key] ?? "";
  return text.replace("#i#", i.toLocaleString("en-US")).replace("#j#", j.toLocaleString("en-US"));
}

// "1 row", "37 rows".
function countOf(what, count) {
  return count === 1 ? say(what) : say(`${what}s`, count);
}
