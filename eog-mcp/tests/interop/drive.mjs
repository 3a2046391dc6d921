// Drives an eog MCP server with the official TypeScript SDKs: the one of the older protocol with its
// handshake, and the newer client. EOG_COMMAND, EOG_URL and EOG_TOKEN are as for drive.py.

import assert from "node:assert/strict";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OlderStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OlderHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const LIMIT = 120_000;
setTimeout(() => {
  console.error(`not done after ${LIMIT} ms`);
  process.exit(3);
}, LIMIT).unref();

const [command, ...args] = JSON.parse(process.env.EOG_COMMAND);
const url = new URL(process.env.EOG_URL);
const requestInit = { headers: { Authorization: `Bearer ${process.env.EOG_TOKEN}` } };
const about = { name: "eog-interop", version: "1.0.0" };

// What a table needs beside the folder, of the snapshot and of the bundle.
const TABLES = {
  get_context_contract: [{ entity: "shop/Pod/web-1" }, { entity: "database" }],
  get_k8_spec: [{ entity: "shop/Pod/web-1" }, { entity: "database" }],
  metric_analysis: [{ metrics: "cpu" }, { metrics: "requests", bucket: "10m" }],
  topology_analysis: [{ entity: "shop/Pod/web-1" }, { entity: "database" }],
};

// The tables that bundles do not have.
const OF_SNAPSHOTS = new Set(["alert_analysis", "get_k8_spec", "get_trace_error_tree"]);

// The other tools.
const OWN = new Set([
  "investigate",
  "resume",
  "rule_out",
  "fork",
  "close_incident",
  "explain",
  "diff",
  "list_investigations",
  "get_context",
]);

async function drive(name, client, transport, callTool) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.equal(tools.length, 21);
  assert.equal(tools.find((tool) => tool.name === "explain").annotations.readOnlyHint, true);

  // The SDK validates what is structured against the schema of the tool.
  const steps = [];
  const found = await callTool(
    client,
    { name: "investigate", arguments: { path: "flash-sale" } },
    { onprogress: (step) => steps.push(step.message) },
  );
  assert.ok(!found.isError, JSON.stringify(found));
  const answer = found.structuredContent;
  const origins = answer.origins.flatMap((group) => group.entities).map((one) => one.entity);
  assert.ok(origins.length > 0);
  assert.match(found.content[0].text, /Investigation inv-/);
  assert.match(steps[0], /^entry 0: opened/);

  const explained = await callTool(client, {
    name: "explain",
    arguments: { investigation: answer.investigation, entity: origins[0] },
  });
  assert.equal(explained.structuredContent.label, "origin");
  const events = await callTool(client, {
    name: "event_analysis",
    arguments: { path: "snap" },
  });
  assert.equal(events.structuredContent.total, 1);

  // Every tool is called, on the bundle and on the snapshot; the SDK checks each answer.
  const called = new Set();
  const ask = async (name, args, wrong) => {
    called.add(name);
    const result = await callTool(client, { name, arguments: args });
    const text = result.content[0].text;
    if (wrong !== undefined) {
      assert.ok(result.isError && text.includes(wrong), `${name}: ${text}`);
      return undefined;
    }
    assert.ok(!result.isError, `${name}: ${text}`);
    assert.ok(result.structuredContent, name);
    // What is structured is not said again in words.
    assert.ok(text.length < 400, `${name}: ${text}`);
    return result.structuredContent;
  };
  const window = { start_time: "2026-03-20T11:38:00Z", end_time: "2026-03-20T12:30:00Z" };
  const investigation = answer.investigation;
  await ask("investigate", { path: "flash-sale" });
  await ask("resume", { investigation });
  await ask("explain", { investigation, entity: origins[0] });
  const forked = await ask("fork", { investigation, at: 3, messages: false });
  await ask("diff", { first: investigation, second: forked.investigation });
  await ask("rule_out", { investigation: forked.investigation, entity: origins[0] });
  await ask("list_investigations", {});
  const closed = await ask("close_incident", { investigation, by: "ada", causes: origins, replace: true });
  assert.equal(closed.grade, "exact");
  for (const path of ["flash-sale", "snap"]) {
    await ask("get_context", { path, entity_id: "gateway", ...window });
  }
  let answered = 0;
  for (const { name } of tools.filter((tool) => !OWN.has(tool.name))) {
    const [ofSnapshot, ofBundle] = TABLES[name] ?? [{}, {}];
    await ask(name, { path: "snap", ...ofSnapshot });
    const asked = { path: "flash-sale", ...ofBundle };
    if (OF_SNAPSHOTS.has(name)) {
      await ask(name, asked, `${name} goes with a snapshot, and this is a bundle`);
      continue;
    }
    const reply = await ask(name, asked);
    const rows = reply.rows ?? reply.findings;
    assert.ok(rows === undefined || rows.length > 0, `${name}: ${JSON.stringify(reply)}`);
    answered += 1;
  }
  assert.equal(answered, 9);
  assert.deepEqual([...called].sort(), tools.map((tool) => tool.name).sort());

  const report = await client.readResource({ uri: answer.resources.report });
  assert.match(report.contents[0].text, /^# /);

  const wrong = await callTool(client, { name: "investigate", arguments: { pth: "x" } });
  assert.ok(wrong.isError);
  assert.match(wrong.content[0].text, /did you mean path\?/);
  await assert.rejects(callTool(client, { name: "no_such_tool", arguments: {} }), /there is no tool/);
  await client.close();
  console.log(`${name}: ${origins}, ${steps.length} steps`);
}

const older = (client, call, options) => client.callTool(call, undefined, options);
const newer = (client, call, options) => client.callTool(call, options);

await drive("sdk, stdio", new OlderClient(about), new OlderStdio({ command, args }), older);
await drive("sdk, http", new OlderClient(about), new OlderHttp(url, { requestInit }), older);
await drive("client, stdio", new Client(about), new StdioClientTransport({ command, args }), newer);
await drive(
  "client, http",
  new Client(about),
  new StreamableHTTPClientTransport(url, { requestInit }),
  newer,
);
process.exit(0);
