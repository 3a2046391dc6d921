// What the tests share: a browser, a page that reports everything it should not do, axe, pictures.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const out = process.env.BROWSER_OUT;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});

export const desk = { viewport: { width: 1280, height: 900 }, colorScheme: "light" };
export const dark = { ...desk, colorScheme: "dark" };
export const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, colorScheme: "light" };

let failures = 0;
export const check = (holds, words) => {
  if (holds) return;
  failures += 1;
  console.error(`  FAILED: ${words}`);
};
export const end = async () => {
  await browser.close();
  if (failures) { console.error(`${failures} failed`); process.exit(1); }
};

// A page that is watched: errors, dialogs and requests of anything but what `isAllowed` names. It is there once it
// has what `ready` names: pages with scripts say so themselves.
export const open = async (url, options = desk, isAllowed = (one) => one === url, ready = "html.ready") => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.faults = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => page.faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { page.faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (!isAllowed(request.url())) page.faults.push(`request: ${request.url().slice(0, 200)}`);
  });
  page.left = [];
  page.on("requestfinished", (request) => { if (!isAllowed(request.url())) page.left.push(request.url()); });
  page.on("popup", () => page.faults.push("a window was opened"));
  // The tripwire: whatever a hostile text runs ends here.
  await page.addInitScript(() => {
    window.tripped = [];
    for (const name of ["alert", "confirm", "prompt"]) window[name] = (...said) => window.tripped.push(String(said[0]));
  });
  await page.goto(url);
  await page.waitForSelector(ready, { state: "attached", timeout: 20_000 });
  return page;
};

export const axeViolations = async (page) => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ")}`);
};

// Accessible, no wider than the screen, and a picture of it for review.
export const sober = async (page, name) => {
  const violations = await axeViolations(page);
  check(!violations.length, `${name}, axe: ${violations.join("; ")}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(wide <= 0, `${name} is ${wide} px wider than the screen`);
  await page.screenshot({ path: `${out}/${name.replaceAll(" ", "-")}.png`, fullPage: false });
};

export const close = async (page, name) => {
  const tripped = await page.evaluate(() => window.tripped);
  check(!tripped.length, `${name}: executed ${tripped.slice(0, 3)}`);
  check(!page.faults.length, `${name}: ${page.faults.slice(0, 3).join("; ")}`);
  await page.context().close();
};
