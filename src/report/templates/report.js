"use strict";
// The filter of the table of tests; without scripts the whole table shows.
(() => {
  const filter = document.getElementById("filter");
  const field = filter.querySelector("input");
  const shown = filter.querySelector("output");
  const rows = Array.from(document.querySelectorAll("#changed tbody tr"));
  const texts = rows.map((row) => row.textContent.toLowerCase());
  filter.hidden = false;
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    let number = 0;
    rows.forEach((row, index) => {
      row.hidden = !texts[index].includes(wanted);
      number += row.hidden ? 0 : 1;
    });
    shown.textContent = `${number} of ${rows.length}`;
  });
})();
