"""The official Python client before its version 2: lists the tools of a server and calls some.

Arguments: the URL, and a JSON list of calls, each with `tool`, `arguments`, and `text` or `error`.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def main(url: str, calls: list[dict]) -> None:
    token = os.environ.get("MCP_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with streamablehttp_client(url, headers=headers) as (read, write, _):
        async with ClientSession(read, write) as session:
            hello = await session.initialize()
            page = await session.list_tools()
            tools = [tool.name for tool in page.tools]
            while page.nextCursor:
                page = await session.list_tools(cursor=page.nextCursor)
                tools += [tool.name for tool in page.tools]
            for call in calls:
                assert call["tool"] in tools, f"{call['tool']} is not among {tools}"
                answer = await session.call_tool(call["tool"], call["arguments"])
                text = "".join(part.text for part in answer.content if part.type == "text")
                assert answer.isError == call.get("error", False), answer
                assert call.get("text", "") in text, text
            print(f"{hello.protocolVersion}, {len(tools)} tools, {len(calls)} calls")


asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
