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

async function drive(name, client, transport, callTool) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.equal(tools.length, 18);
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
  assert.equal(explained.structuredContent.label, "Origin");
  const events = await callTool(client, {
    name: "event_analysis",
    arguments: { snapshot: "snap" },
  });
  assert.equal(events.structuredContent.total, 1);
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
