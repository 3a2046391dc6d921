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
        assert len(tools) == 18, sorted(tools)
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
        assert explained.structured_content["label"] == "Origin", explained
        events = await client.call_tool("event_analysis", {"snapshot": "snap"})
        assert events.structured_content["total"] == 1, events

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
