// The page of an incident of the service on call: while it waits, and with its result. Names, texts and labels of its
// alerts are long or hostile.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { check, close, dark, desk, end, open, out, phone, sober } from "./harness.mjs";
import { start, within } from "./process.mjs";

// A service whose only source is a file.
const onCall = (name, settle) => {
  const folder = `${out}/${name}`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/spans.json`, '{"resourceSpans":[]}\n');
  writeFileSync(`${folder}/source.toml`, "history = '30m'\n[otlp]\nfiles = ['spans.json']\n");
  writeFileSync(`${folder}/oncall.toml`, `source = 'source.toml'\n[pace]\nsettle = '${settle}'\n`);
  return start(["serve", "--on-call", `${folder}/oncall.toml`, "--state", `${folder}/state`, "--http", "127.0.0.1:0"], { EOG_MCP_TOKEN: undefined });
};

const began = new Date(Date.now() - 60_000).toISOString();
const alert = (fingerprint, labels, annotations) => ({
  status: "firing", fingerprint, labels, annotations, startsAt: began, endsAt: "0001-01-01T00:00:00Z",
});
const alerts = [
  alert("1", { alertname: "HighErrorRate", service: "checkout", namespace: "shop", severity: "critical" }, { summary: "12 % of the requests fail" }),
  alert("2", { alertname: `Alert${"WithALongName".repeat(12)}`, url: `https://example.org/${"path".repeat(60)}` }, { summary: `p99 ${"x".repeat(300)}` }),
  alert("3", { alertname: "</title><script>alert(1)</script>", job: "<img src=x onerror=alert(2)>\u202e" }, { summary: "<b onmouseover=alert(3)>" }),
  alert("4", { alertname: "OverAgain", service: "cart" }, {}),
];
const over = { ...alerts[3], status: "resolved", endsAt: new Date().toISOString() };
const send = async (url, alerts) => {
  const body = JSON.stringify({ version: "4", groupKey: "shop", status: "firing", receiver: "eog", groupLabels: {}, truncatedAlerts: 0, alerts });
  const answer = await fetch(new URL("/alerts", url), { method: "POST", headers: { "Content-Type": "application/json" }, body });
  check(answer.status === 200, `the alerts are taken in, not ${answer.status}: ${await answer.text()}`);
};
const incident = async (url) => (await fetch(new URL("/incidents/in-000001", url))).json();
const hasResult = async (url) => { const { confidence, run } = await incident(url); return confidence && !run; };
const text = (page) => page.textContent("main");

for (const [name, settle] of [["incident queued", "1h"], ["incident firing", "0s"]]) {
  const eog = await onCall(name.replace(" ", "-"), settle);
  await send(eog.url, alerts);
  await send(eog.url, [over]);
  const waits = settle === "1h";
  for (let left = 600; !waits && left && !(await hasResult(eog.url)); left -= 1) {
    await new Promise((done) => setTimeout(done, 100));
  }
  for (const [on, options] of [["light", desk], ["dark", dark], ["phone", phone]]) {
    const page = await open(new URL("/incidents/in-000001", eog.url).href, options, within(eog.url), "main");
    await sober(page, `${name} ${on}`);
    // Every cell is to be seen without a scrollbar, however long the text of another is.
    const wider = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth).length);
    check(!wider, `the alerts of ${name} ${on} need no scrollbar`);
    check((await page.locator("tbody tr").count()) === 4, "its alerts are listed");
    check((await page.locator("tbody tr", { hasText: "OverAgain" }).locator("time").count()) === 2, "that which is over says until when");
    check(!/[\u202e\u001b]/.test(await page.content()), "no control character is shown");
    check((await text(page)).includes(waits ? "queued: waiting" : "firing: investigated"), `its stage: ${await text(page)}`);
    check(waits === ((await page.locator("a[href='/incidents/in-000001']").count()) === 1), "it offers to reload while something is to come");
    check(waits !== ((await page.locator("a[href^='/i/']").count()) === 1), "its investigation is reached from it");
    await close(page, name);
  }
  eog.child.kill("SIGINT");
  await eog.ended;
}

await end();
