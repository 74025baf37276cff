"""An MCP server for the browser tests: the `mcp` SDK's own, over streamable HTTP, on a free port.

Run as a program; its one line on stdout is its URL. A page of another origin may use it.
"""

import socket

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.middleware.cors import CORSMiddleware

server = MCPServer("Harbour", log_level="ERROR")


@server.tool()
def tide_height(harbour: str) -> str:
    """The height of the tide in a harbour"""
    return f"The tide at {harbour} stands at 2.4 m."


@server.tool()
def close_gate(gate: int) -> str:
    """Closes a lock gate"""
    raise ToolError(f"gate {gate} is stuck")


@server.tool(name="harbour/list")
def list_harbours() -> list[str]:
    """A tool whose name no OpenAI request can carry"""
    return ["Bergen"]


def main() -> None:
    """Serves until it is ended."""
    app = CORSMiddleware(
        server.streamable_http_app(),
        allow_origins=["*"],
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["Mcp-Session-Id"],
    )
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
