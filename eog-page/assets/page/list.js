// Filters the list of investigations.
"use strict";
document.documentElement.classList.add("scripted");
{
  const search = document.getElementById("search"), rows = document.querySelectorAll("#rows tr");
  const words = [...rows].map((row) => row.textContent.toLowerCase());
  search?.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    let shown = 0;
    rows.forEach((row, number) => { row.hidden = !words[number].includes(wanted); shown += row.hidden ? 0 : 1; });
    document.getElementById("count").textContent = `${shown} of ${rows.length}`;
  });
  document.documentElement.classList.add("ready");
}
