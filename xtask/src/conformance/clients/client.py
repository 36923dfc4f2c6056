"""The official Python client: lists the tools of the server at argv[1] and calls `echo`."""

import asyncio
import os
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def main() -> None:
    token = os.environ.get("MCP_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with streamablehttp_client(sys.argv[1], headers=headers) as (read, write, _):
        async with ClientSession(read, write) as session:
            hello = await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            assert "echo" in tools, tools
            answer = await session.call_tool("echo", {"text": "from Python"})
            assert not answer.isError and answer.content[0].text == "from Python", answer
            failed = await session.call_tool("test_error_handling", {})
            assert failed.isError, failed
            print(f"{hello.protocolVersion}, {len(tools)} tools, echo called")


asyncio.run(main())
