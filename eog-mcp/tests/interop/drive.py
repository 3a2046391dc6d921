"""Drives an eog MCP server with the official Python SDK, in both generations of the protocol.

EOG_COMMAND is the server as a JSON list, for standard input and output; EOG_URL and EOG_TOKEN are a
server over HTTP. Says what it did and ends with 0 if all was as it must be.
"""

import asyncio
import json
import os
import sys
import threading
import time

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

LIMIT = 120


# What a table needs beside the folder, of the snapshot and of the bundle.
TABLES = {
    "get_context_contract": ({"entity": "shop/Pod/web-1"}, {"entity": "database"}),
    "get_k8_spec": ({"entity": "shop/Pod/web-1"}, {"entity": "database"}),
    "metric_analysis": ({"metrics": "cpu"}, {"metrics": "requests", "bucket": "10m"}),
    "topology_analysis": ({"entity": "shop/Pod/web-1"}, {"entity": "database"}),
}

# The tables that bundles do not have.
OF_SNAPSHOTS = {"alert_analysis", "get_k8_spec", "get_trace_error_tree"}

# The other tools.
OWN = {
    "investigate",
    "resume",
    "rule_out",
    "fork",
    "close_incident",
    "explain",
    "diff",
    "list_investigations",
    "get_context",
}


def watchdog():
    time.sleep(LIMIT)
    print(f"not done after {LIMIT} seconds", file=sys.stderr)
    os._exit(3)


def over_stdio():
    command, *arguments = json.loads(os.environ["EOG_COMMAND"])
    return StdioServerParameters(command=command, args=arguments)


def over_http():
    headers = {"Authorization": f"Bearer {os.environ['EOG_TOKEN']}"}
    client = httpx2.AsyncClient(headers=headers, timeout=LIMIT)
    return streamable_http_client(os.environ["EOG_URL"], http_client=client)


async def drive(name, server, mode):
    steps = []

    async def progress(step, total, message):
        steps.append((step, message))

    async with Client(server, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert len(tools) == 21, sorted(tools)
        assert tools["explain"].annotations.read_only_hint is True
        assert tools["event_analysis"].output_schema["type"] == "object"

        # The SDK validates what is structured against the schema of the tool.
        found = await client.call_tool(
            "investigate", {"path": "flash-sale"}, progress_callback=progress
        )
        assert not found.is_error, found
        answer = found.structured_content
        origins = [e["entity"] for group in answer["origins"] for e in group["entities"]]
        assert origins, answer
        assert "Investigation inv-" in found.content[0].text
        assert steps and steps[0][1].startswith("entry 0: opened"), steps

        about = {"investigation": answer["investigation"], "entity": origins[0]}
        explained = await client.call_tool("explain", about)
        assert explained.structured_content["label"] == "origin", explained
        events = await client.call_tool("event_analysis", {"path": "snap"})
        assert events.structured_content["total"] == 1, events

        # Every tool is called, on the bundle and on the snapshot; the SDK checks each answer.
        called = set()

        async def ask(name, arguments, wrong=None):
            called.add(name)
            result = await client.call_tool(name, arguments)
            text = result.content[0].text
            if wrong is not None:
                assert result.is_error and wrong in text, (name, text)
                return None
            assert not result.is_error, (name, text)
            assert result.structured_content is not None, name
            # What is structured is not said again in words.
            assert len(text) < 400, (name, text)
            return result.structured_content

        window = {"start_time": "2026-03-20T11:38:00Z", "end_time": "2026-03-20T12:30:00Z"}
        await ask("investigate", {"path": "flash-sale"})
        await ask("resume", {"investigation": answer["investigation"]})
        await ask("explain", about)
        forked = await ask(
            "fork", {"investigation": answer["investigation"], "at": 3, "messages": False}
        )
        assert forked["investigation"] != answer["investigation"], forked
        await ask("diff", {"first": answer["investigation"], "second": forked["investigation"]})
        ruled = await ask(
            "rule_out", {"investigation": forked["investigation"], "entity": origins[0]}
        )
        assert not any(
            e["entity"] == origins[0] for group in ruled["origins"] for e in group["entities"]
        ), ruled
        await ask("list_investigations", {})
        closing = {"investigation": answer["investigation"], "by": "ada", "replace": True}
        closed = await ask("close_incident", {**closing, "causes": origins})
        assert closed["grade"] == "exact", closed
        for path in ("flash-sale", "snap"):
            await ask("get_context", {"path": path, "entity_id": "gateway", **window})
        snapshot = {"path": "snap", "window": "2026-01-01T09:00:00Z/2026-01-01T11:00:00Z"}
        found = await client.call_tool("investigate", snapshot)
        assert found.is_error or found.structured_content is not None, found
        answered = 0
        for table in set(tools) - OWN:
            of_snapshot, of_bundle = TABLES.get(table, ({}, {}))
            await ask(table, {"path": "snap", **of_snapshot})
            if table in OF_SNAPSHOTS:
                refusal = f"{table} goes with a snapshot, and this is a bundle"
                await ask(table, {"path": "flash-sale", **of_bundle}, wrong=refusal)
                continue
            reply = await ask(table, {"path": "flash-sale", **of_bundle})
            rows = reply.get("rows", reply.get("findings", reply.get("edges", reply)))
            assert rows, (table, reply)
            answered += 1
        assert answered == 9, answered
        assert called == set(tools), set(tools) - called

        report = await client.read_resource(answer["resources"]["report"])
        assert report.contents[0].text.startswith("# "), report
        assert len((await client.list_resource_templates()).resource_templates) == 5

        wrong = await client.call_tool("investigate", {"pth": "x"})
        assert wrong.is_error and "did you mean path?" in wrong.content[0].text, wrong
        try:
            await client.call_tool("no_such_tool", {})
            raise AssertionError("an unknown tool was answered")
        except MCPError as error:
            assert "there is no tool" in str(error), error
        print(f"{name}, protocol {client.protocol_version}: {origins}, {len(steps)} steps")


async def main():
    for mode in ("legacy", "auto"):
        await drive("stdio", over_stdio(), mode)
        await drive("http", over_http(), mode)


threading.Thread(target=watchdog, daemon=True).start()
asyncio.run(main())
