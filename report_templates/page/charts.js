// A line under the pointer through all metrics over steps, and their values there. The values are read back from the
// paths that are drawn, to four digits; the exact ones are in diff.json. Those beyond the axis stand in data-beyond.
(() => {
  "use strict";
  const chart = document.querySelector(".health");
  if (!chart) return;
  const first = Number(chart.dataset.first);
  const last = Number(chart.dataset.last);
  const panels = [...chart.querySelectorAll(".panel")].map((panel) => {
    const box = panel.querySelector("svg.box");
    const cross = document.createElementNS(box.namespaceURI, "line");
    cross.setAttribute("class", "cross");
    cross.setAttribute("y1", "0");
    cross.setAttribute("y2", "100%");
    return { box, cross, lines: [...panel.querySelectorAll("path.line")], data: panel.dataset, output: panel.querySelector("output") };
  });
  const points = new Map();

  function pointsOf(path) {
    if (!points.has(path)) {
      const found = [...path.getAttribute("d").matchAll(/[ML]([\d.]+) ([\d.]+)/g)];
      const beyond = new Map((path.dataset.beyond ?? "").split(" ").map((pair) => pair.split(":")));
      points.set(path, found.map((point, place) => [Number(point[1]), Number(point[2]), beyond.get(String(place))]));
    }
    return points.get(path);
  }

  function nearest(path, x) {
    return pointsOf(path).reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
  }

  function valueOf(panel, height, beyond) {
    if (beyond !== undefined) return String(Number(beyond));
    const low = Number(panel.data.low);
    const high = Number(panel.data.high);
    return String(Number((high - (height / 100) * (high - low)).toPrecision(4)));
  }

  function show(event) {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const pointed = (1000 * (event.clientX - left)) / width;
    const all = panels.flatMap((panel) => panel.lines);
    const [at] = all.map((path) => nearest(path, pointed)).reduce((best, point) => (Math.abs(point[0] - pointed) < Math.abs(best[0] - pointed) ? point : best));
    const step = Math.round(first + (at / 1000) * (last - first));
    for (const panel of panels) {
      panel.cross.setAttribute("x1", `${at / 10}%`);
      panel.cross.setAttribute("x2", `${at / 10}%`);
      panel.box.append(panel.cross);
      const texts = panel.lines.map((path) => [path, nearest(path, at)]).filter(([, point]) => Math.abs(point[0] - at) < 1000 / Math.max(last - first, 1));
      const values = texts.map(([path, point]) => `${path.dataset.side} ${valueOf(panel, point[1], point[2])}`);
      panel.output.textContent = [chart.dataset.step.replace("{step}", step), ...values].join(" · ");
    }
  }

  function hide() {
    for (const panel of panels) {
      panel.cross.remove();
      panel.output.textContent = "";
    }
  }

  for (const panel of panels) {
    panel.box.addEventListener("pointermove", show);
    panel.box.addEventListener("pointerleave", hide);
  }
})();
