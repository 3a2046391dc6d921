"""Starts MCP servers as clients that read a configuration do, by the official Python SDK, and calls each of them.

EOG_CONFIGURED is a JSON list of [name, server], a server as in the lists `mcpServers`, `servers` and
`context_servers` of these clients: command, args and env, or url and headers.
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

LIMIT = 120


def watchdog():
    time.sleep(LIMIT)
    print(f"not done after {LIMIT} seconds", file=sys.stderr)
    os._exit(3)


def transport(server):
    if "command" in server:
        # Beside `env`, the SDK hands on little more than PATH and HOME, as these clients do.
        return StdioServerParameters(
            command=server["command"], args=server.get("args", []), env=server.get("env")
        )
    client = httpx2.AsyncClient(headers=server.get("headers"), timeout=LIMIT)
    return streamable_http_client(server["url"], http_client=client)


async def main():
    for name, server in json.loads(os.environ["EOG_CONFIGURED"]):
        async with Client(transport(server)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            found = await client.call_tool("investigate", {"path": "flash-sale"})
            assert not found.is_error, found
            # In words where the list of tools is for agents, structured where it is for programs.
            assert "frontend" in found.content[0].text + json.dumps(found.structured_content), found
            print(f"{name}: {len(tools)} tools")


threading.Thread(target=watchdog, daemon=True).start()
asyncio.run(main())
