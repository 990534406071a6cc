"""The smallest server of the protocol's SDK, with one tool: what ours is compared with."""

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool


async def _list(_context: object, _asked: object) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name="nothing", input_schema={"type": "object"})])


async def _call(_context: object, _asked: object) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="done")])


async def main() -> None:
    server = Server("bare", on_list_tools=_list, on_call_tool=_call)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
