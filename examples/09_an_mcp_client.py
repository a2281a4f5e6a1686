"""The tools over the Model Context Protocol: start the server as a chat program would, list its tools, call one.

Needs the extra `mcp`: pip install -c constraints.txt -e '.[mcp]'

    python examples/09_an_mcp_client.py

You will see:

    ... tools, among them roborefer-detect_one
    ['text', 'image'] ... image_index ...
    Detected 1 instance(s) of 'baseball'...
    refused: NOT_HOLDING
"""

import sys

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "toolhand", "mcp", "--scene", "3"])


def text_of(result: CallToolResult) -> str:
    """What the tool says; images are parts of their own."""
    return " ".join(part.text for part in result.content if part.type == "text")


async def main() -> None:
    """One conversation: images and $variables belong to it and stay in the server."""
    async with Client(SERVER) as client:
        tools = (await client.list_tools()).tools
        print(len(tools), "tools, among them", next(tool.name for tool in tools if "detect_one" in tool.name))

        seen = await client.call_tool("robot-capture_image", {})
        print([part.type for part in seen.content], text_of(seen))

        found = await client.call_tool("roborefer-detect_one", {"obj_name": "baseball", "image_index": 0})
        print(text_of(found))

        # Nothing is in the gripper, so there is nothing to place: an error is a result that the model can act on.
        refused = await client.call_tool("robot-place_object_at_2d_location", {"point_2d": [0.5, 0.5]})
        assert refused.is_error
        print("refused:", refused.structured_content["error"]["code"])


anyio.run(main)
