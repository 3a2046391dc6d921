"""A small server made with the official Python SDK: `serve.py stdio`, or `serve.py http PORT`."""

import sys
from datetime import datetime

from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("rollouts", log_level="ERROR")
reads = ToolAnnotations(read_only_hint=True)


class Rollout(BaseModel):
    at: datetime
    field: str
    old: str | None
    new: str


@server.tool(annotations=reads)
def rollouts(namespace: str, name: str, since: int) -> list[Rollout]:
    """What was rolled out, since a time in seconds of 1970."""
    at = datetime.fromisoformat("2026-01-01T10:05:00+00:00")
    if at.timestamp() < since or name != "cart":
        return []
    return [Rollout(at=at, field=f"{namespace}.image", old=None, new="v2")]


@server.tool(annotations=reads)
def pods(namespace: str) -> str:
    """A table as kubectl prints it."""
    return f"NAME        READY   STATUS             NAMESPACE\ncart-1      0/1     CrashLoopBackOff   {namespace}\n"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[2]))
