"""The official Python client since its version 2: lists the tools of a server and calls some.

Arguments: the URL, a JSON list of calls, each with `tool`, `arguments`, and `text` or `error`, and
how to begin: `legacy` with a session, or the revision without sessions.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, calls: list[dict], mode: str) -> None:
    token = os.environ.get("MCP_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            page = await client.list_tools()
            tools = [tool.name for tool in page.tools]
            while page.next_cursor:
                page = await client.list_tools(cursor=page.next_cursor)
                tools += [tool.name for tool in page.tools]
            for call in calls:
                assert call["tool"] in tools, f"{call['tool']} is not among {tools}"
                answer = await client.call_tool(call["tool"], call["arguments"])
                text = "".join(part.text for part in answer.content if part.type == "text")
                assert bool(answer.is_error) == call.get("error", False), answer
                assert call.get("text", "") in text, text
            print(f"{client.protocol_version}, {len(tools)} tools, {len(calls)} calls")


asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]))
