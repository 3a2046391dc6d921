// The live page: an investigation with a slow policy is watched by three from its start to its end,
// reloaded in the middle, stopped, answered, and given a verdict that changes the result.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { axeViolations, check, close, dark, desk, end, open, out, phone, sober } from "./harness.mjs";
import { children, start, within } from "./process.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const policy = join(here, "slow-policy.mjs");
chmodSync(policy, 0o755);
const examples = process.env.EXAMPLES;

const watch = (incident, env, ...more) =>
  start(["investigate", incident, "--policy", `command:${policy}`, "--live", "--quiet", ...more], env);
const visit = (url, options = desk) => open(url, options, within(url));
const running = (page) => page.waitForFunction(() => document.querySelector("#live-view .badge")?.textContent === "running");
// The page has loaded itself again after the run: the report is that of the result.
const finished = (page, runs) => page.waitForFunction((runs) => {
  const data = document.getElementById("live-data");
  const status = data && JSON.parse(data.textContent).status;
  return status && !status.running && status.ended >= runs && document.documentElement.classList.contains("ready");
}, runs, { timeout: 60_000 });
const entries = (page) => page.locator("#live-log li").count();
const reach = async (page, wanted, most = 80) => {
  for (let i = 0; i < most; i += 1) {
    if (await page.evaluate((selector) => document.activeElement.matches(selector), wanted)) return true;
    await page.keyboard.press("Tab");
  }
  return false;
};

// From its start to its end, by three, reloaded in the middle; then a verdict.
{
  const hold = `${out}/hold`;
  rmSync(hold, { force: true });
  const eog = await watch(`${examples}/flash-sale`, { EOG_SLOW_MS: "500", EOG_DEFER: "catalog", EOG_HOLD: hold });
  const first = await visit(eog.url);
  await running(first);
  const before = await entries(first);
  await first.waitForFunction((before) => document.querySelectorAll("#live-log li").length > before, before);
  await first.waitForSelector("#live-questions button");
  writeFileSync(hold, "");
  const others = [await visit(eog.url, dark), await visit(eog.url, phone)];
  const pages = [first, ...others];
  await sober(first, "live running light");
  await sober(others[0], "live running dark");
  await sober(others[1], "live running phone");
  const seen = await entries(first);
  await first.reload();
  await first.waitForSelector("html.ready", { state: "attached" });
  check((await entries(first)) >= seen, "a reload in the middle shows everything so far");
  const slider = await first.getAttribute("#replay-view input[type=range]", "max");
  check(Number(slider) >= seen - 1, `the replay has what was recorded so far, not ${slider} of ${seen}`);

  // The question about who was put off, by keyboard.
  await first.locator("#live-questions button").focus();
  await first.keyboard.press("Enter");
  check((await first.inputValue("#live-entity")) === "catalog", "the question names its entity");
  await first.keyboard.type("</li><img src=x onerror=alert(1)> it was scaled up \u202e");
  check(await reach(first, "#live-submit"), "Tab leads from the text to the button");
  await first.keyboard.press("Enter");
  await Promise.all(pages.map((page) => page.waitForFunction(() => document.querySelector("#live-said").textContent.includes("it was scaled up"))));
  check(!/\u202e/.test(await first.textContent("#live-said")), "no control character is shown");
  check((await first.locator("#live-said img").count()) === 0, "what was said is text");
  rmSync(hold);

  await Promise.all(pages.map((page) => finished(page, 1)));
  const result = (page) => page.textContent("#verdict .sentence");
  const verdicts = await Promise.all(pages.map(result));
  check(new Set(verdicts).size === 1 && verdicts[0].includes("frontend"), `all see one result: ${verdicts}`);
  const figures = await Promise.all(pages.map((page) => page.textContent("#live-figures")));
  check(new Set(figures).size === 1, `all see the same figures: ${figures}`);
  check(/healthy/.test(await first.evaluate(() => eog.data.nodes.find((node) => eog.text(node.name) === "catalog").role)), "the answer was taken in");
  await sober(first, "live ended light");
  check((await first.textContent("#live-title")) === "This investigation has ended", "the heading says that it has ended");

  // Not the cause: continue without it.
  const button = first.locator("#live-origins button", { hasText: "Not the cause" }).first();
  const label = await button.getAttribute("aria-label");
  await button.focus();
  await first.keyboard.press("Enter");
  await Promise.all(pages.map((page) => finished(page, 2)));
  const after = await Promise.all(pages.map(result));
  check(label.startsWith("frontend") && new Set(after).size === 1 && after[0] !== verdicts[0], `the verdict changes the result for all: ${after}`);
  check((await first.textContent("#live-said")).includes("this is not the cause"), "what was said is shown");
  check(await first.evaluate(() => eog.data.steps.some((step) => step.kind === "observed")), "it is recorded as an entry");
  check(eog.said.err.includes("press Ctrl-C") || eog.said.err.includes("live page"), "the terminal says where it is");

  // The list, and its search.
  const list = await open(new URL("/", eog.url).href, desk, within(eog.url));
  await sober(list, "live list");
  await list.keyboard.press("Tab");
  await list.keyboard.type("no such thing");
  check((await list.textContent("#count")) === "0 of 1", "the search filters");
  await list.fill("#search", "flash");
  await list.locator("#rows a").focus();
  await list.keyboard.press("Enter");
  await list.waitForSelector("#live-view .badge");
  await close(list, "list");
  const narrow = await open(new URL("/", eog.url).href, phone, within(eog.url));
  await sober(narrow, "live list phone");
  const wider = await narrow.evaluate(() => [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth).length);
  check(!wider, "the list needs no scrollbar on a phone");
  check(/^20\d\d-/.test(await narrow.textContent("#rows time")), "the list says when each was begun");
  await close(narrow, "list on a phone");

  // Ctrl-C ends the page, and its readers are notified.
  eog.child.kill("SIGINT");
  await first.waitForFunction(() => document.querySelector("#live-now").textContent.includes("eog has exited"));
  const code = await eog.ended;
  check(code === 0 || code === 3, `the code is that of the result, not ${code}`);
  for (const page of pages) await close(page, "watched by three");
}

// Started with the form of a service.
{
  const folder = `${out}/started`;
  rmSync(folder, { recursive: true, force: true });
  const eog = await start(["serve", "--root", examples, "--state", folder, "--http", "127.0.0.1:0"], { EOG_MCP_TOKEN: undefined });
  const list = await open(new URL("/", eog.url).href, desk, within(eog.url), "main");
  await list.click("#start summary");
  await sober(list, "start form");
  await list.fill("#start-path", "flash-sale");
  await list.click("#start-button");
  await list.waitForURL(/\/i\/inv-000001$/);
  await finished(list, 1);
  check((await list.textContent("#verdict .sentence")).includes("frontend"), "the page of the investigation is shown");
  eog.child.kill("SIGINT");
  await eog.ended;
  await close(list, "started");
}

// Stopped, and gone on with, by keyboard.
{
  const eog = await watch(`${examples}/flash-sale`, { EOG_SLOW_MS: "700" });
  const page = await visit(eog.url);
  await running(page);
  check(await reach(page, "#live-stop"), "Tab reaches the stop button");
  await page.keyboard.press("Enter");
  await finished(page, 1);
  check((await page.textContent("#live-now")).includes("interrupted"), "it was stopped");
  check(await reach(page, "#live-go-on"), "Tab reaches the button that goes on");
  await page.keyboard.press("Enter");
  await finished(page, 2);
  check((await page.textContent("#live-now")).includes("converged"), `it went on to its end: ${await page.textContent("#live-now")}`);
  eog.child.kill("SIGINT");
  await eog.ended;
  await close(page, "stopped");
}

// Hostile names and texts: nothing of them runs.
{
  const eog = await watch(`${out}/hostile-bundle`, { EOG_SLOW_MS: "150" }, "--budget", "12");
  const page = await visit(eog.url);
  await finished(page, 1);
  check((await page.locator("#live-origins li").count()) > 0, "hostile names are shown");
  check(!/[\u202e\u2066\u001b]/.test(await page.content()), "no control character is in the document");
  const refused = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "window.tripped.push('inline')";
    document.body.append(script);
    return fetch("https://example.org/leak").then(() => false, () => true);
  });
  check(refused && !page.left.some((one) => one.includes("example.org")), "the policy lets it ask no other host");
  page.faults.length = 0;
  eog.child.kill("SIGINT");
  await eog.ended;
  await close(page, "hostile live");
}

// A server: its list, signing in, and a verdict on what has ended.
{
  const state = `${out}/state`, token = "a-token-for-tests-only";
  rmSync(state, { recursive: true, force: true });
  mkdirSync(state, { recursive: true });
  const serve = ["mcp", "serve", "--root", examples, "--state", state];
  const filled = spawn(process.env.EOG, serve, { stdio: ["pipe", "pipe", "inherit"] });
  children.add(filled);
  const send = (message) => filled.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const answered = new Promise((done) => {
    let text = "";
    filled.stdout.on("data", (data) => { text += data; if (text.includes('"id":2')) done(); });
  });
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } } });
  send({ method: "notifications/initialized" });
  send({ id: 2, method: "tools/call", params: { name: "investigate", arguments: { path: "flash-sale" } } });
  await answered;
  filled.stdin.end();
  await new Promise((done) => filled.on("exit", done));
  children.delete(filled);

  const eog = await start([...serve, "--http", "127.0.0.1:0"], { EOG_MCP_TOKEN: token });
  const { page, context } = await (async () => {
    const { browser } = await import("./harness.mjs");
    const context = await browser.newContext(desk);
    return { context, page: await context.newPage() };
  })();
  await page.goto(eog.url);
  check((await page.title()).startsWith("Sign in"), "nothing is shown without the token");
  const violations = await axeViolations(page);
  check(!violations.length, `sign in, axe: ${violations.join("; ")}`);
  await page.fill("#token", "not-the-token-at-all");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[role=alert]");
  await page.fill("#token", token);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#rows a");
  await page.locator("#rows a").focus();
  await page.keyboard.press("Enter");
  await finished(page, 1);
  check((await page.textContent("#verdict .sentence")).includes("frontend"), "the report of the server is shown");
  await page.locator("#live-origins button", { hasText: "Not the cause" }).first().click();
  await page.waitForFunction(() => document.querySelector("#live-said").textContent.includes("this is not the cause"));
  await page.waitForFunction(() => !document.querySelector("#verdict .sentence").textContent.includes("Confirmed"), null, { timeout: 30_000 });
  await context.close();
  eog.child.kill("SIGINT");
  await eog.ended;
}

await end();
