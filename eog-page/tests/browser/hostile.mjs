// Writes a bundle whose names and texts try to become markup, scripts, control sequences or megabytes.
import { mkdirSync, writeFileSync } from "node:fs";

const out = process.argv[2];
mkdirSync(out, { recursive: true });
const names = [
  `</script><script>alert(1)</script>`, `<img src=x onerror=alert(2)>`, `"><svg onload=alert(3)>`,
  `javascript:alert(4)`, `{{constructor.constructor('alert(5)')()}}`, `a\u202egnp.exe`, `'-alert(6)-'`,
  `<!--<script>`, `__proto__`, `constructor`, "x".repeat(512), `a\u2028alert(7)//`, `&lt;b&gt;`, `]]>`,
];
const text = (number) => `${names[number % names.length]} \u001b[31m\u001b]8;;http://example.org\u0007 \u2066${"A".repeat(300)}`;
const huge = `<iframe src=//example.org></iframe>${"<b onmouseover=alert(8)>".repeat(50_000)}`;
const at = (minute) => `2026-05-01T10:${String(minute).padStart(2, "0")}:00Z`;
const write = (name, content) => writeFileSync(`${out}/${name}`, typeof content === "string" ? content : JSON.stringify(content));
const edges = names.slice(1).map((name, i) => ({ source: names[i], target: name, relation: `<i>calls${i}</i>`, effects: "target_to_source" }));
write("bundle.json", { format: "eog-bundle", version: 1, name: text(0), window: { start: at(0), end: at(59) }, topology: { edges } });
write("alerts.json", [0, 1, 2].map((i) => ({ name: text(i), entity: names[i], signal: "errors", onset: at(30 + i), description: huge })));
write("changes.json", names.map((entity, i) => ({ time: at(5 + i), entity, path: text(i), old: i === 4 ? huge : text(i + 1), new: text(i + 2) })));
const cell = (value) => `"${String(value).replaceAll('"', '""')}"`;
write("events.csv", `time,entity,reason,message\n${names.map((name, i) => [at(20 + i), name, "OutOfMemory", text(i)].map(cell).join()).join("\n")}\n`);
