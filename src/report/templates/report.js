"use strict";
// Conveniences only: without scripts the page shows all its rows, and the tables hold the figures.

// the filter of the table of tests
(() => {
  const filter = document.getElementById("filter");
  if (!filter) return;
  const field = filter.querySelector("input");
  const shown = filter.querySelector("output");
  const rows = Array.from(document.querySelectorAll(".changes tbody tr"));
  const texts = rows.map((row) => row.textContent.toLowerCase());
  filter.hidden = false;
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const folded of document.querySelectorAll("details:has(.changes)")) {
      folded.open = folded.open || wanted !== "";
    }
    let number = 0;
    rows.forEach((row, index) => {
      row.hidden = !texts[index].includes(wanted);
      number += row.hidden ? 0 : 1;
    });
    shown.textContent = `${number} of ${rows.length}`;
  });
})();

// values under the pointer, read off the curves
for (const plot of document.querySelectorAll("svg[data-edges]")) {
  const [left, top, right, bottom] = plot.dataset.edges.split(" ").map(Number);
  const [first, last, most] = plot.dataset.spans.split(" ").map(Number);
  const curve = (colour) => {
    const line = plot.querySelectorAll(`polyline[stroke="${colour}"][stroke-width="2"]`)[0];
    return line ? Array.from(line.points, (point) => [point.x, point.y]) : [];
  };
  const arms = [["stock", curve("#B35400")], ["patched", curve("#1F5FA8")]];
  const values = plot.parentElement.querySelector("output");
  const guide = document.createElementNS("http://www.w3.org/2000/svg", "line");
  guide.setAttribute("class", "guide");
  guide.setAttribute("visibility", "hidden");
  guide.setAttribute("y1", top);
  guide.setAttribute("y2", bottom);
  plot.append(guide);
  // room for the text, so that nothing moves when it comes
  values.style.minHeight = "1.5em";
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const across = ((event.clientX - box.left) / box.width) * plot.viewBox.baseVal.width;
    const x = Math.min(Math.max(across, left), right);
    guide.setAttribute("visibility", "visible");
    guide.setAttribute("x1", x);
    guide.setAttribute("x2", x);
    const step = first + ((x - left) / (right - left)) * (last - first);
    const texts = arms.filter((arm) => arm[1].length > 0).map(([name, points]) => {
      const near = points.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a));
      const size = ((bottom - near[1]) / (bottom - top)) * most;
      return `${name} about ${size.toLocaleString("en", { maximumSignificantDigits: 3 })} MiB`;
    });
    values.textContent = `step ${Math.round(step).toLocaleString("en")}: ${texts.join(", ")}`;
  });
}
