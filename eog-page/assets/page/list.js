// Filters the list of investigations, and starts one.
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
  const at = (id) => document.getElementById(id);
  at("start-form")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const asked = {};
    if (at("start-path").value.trim()) asked.path = at("start-path").value.trim();
    if (at("start-window").value.trim()) asked.window = at("start-window").value.trim();
    if (at("start-budget").value) asked.budget = Number(at("start-budget").value);
    const status = at("start-status"), button = at("start-button");
    button.disabled = true;
    status.textContent = "Reading the folder …";
    try {
      const answer = await fetch("/i", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(asked) });
      const said = await answer.json();
      if (answer.ok) location.assign(said.page); else status.textContent = said.error;
    } catch (error) {
      status.textContent = `The server does not answer: ${error.message}`;
    }
    button.disabled = false;
  });
  document.documentElement.classList.add("ready");
}
