"""A small MCP server on standard streams, with the behaviours that tests ask for."""
import json
import os
import sys

canceled = []
# Says nothing to be discovered, and refuses everything after that.
is_shy, is_offended = "SHY" in os.environ, False


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def call(request):
    name = request["params"]["name"]
    meta = request["params"].get("_meta", {})
    if name == "pid":
        return {"content": [os.getpid()]}
    if name == "env":
        return {"content": [dict(os.environ)]}
    if name == "ask":
        say({"id": "q", "method": "elicitation/create", "params": {"message": "Who?"}})
        return {"content": [json.loads(sys.stdin.readline()).get("result")]}
    if name == "progress":
        say({"method": "notifications/progress",
             "params": {"progressToken": meta["progressToken"], "progress": 1}})
        say({"method": "notifications/message", "params": {"level": "info", "data": "half"}})
    if name == "noise":
        print("I am no message", flush=True)
    if name == "die":
        print("password=hunter2", file=sys.stderr)
        print("I cannot go on", file=sys.stderr, flush=True)
        sys.exit(3)
    if name == "big":
        return {"content": ["x" * 200000]}
    if name == "flood":
        sys.stdout.write("x" * 2000000)
        sys.stdout.flush()
    if name == "canceled":
        return {"content": canceled}
    return {"content": []}


for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "notifications/cancelled":
        canceled.append(message["params"]["requestId"])
    elif "id" not in message:
        pass
    elif is_shy and method == "server/discover":
        is_offended = True
    elif is_offended:
        say({"id": message["id"], "error": {"code": -32600, "message": "too late"}})
    elif method == "initialize":
        say({"id": message["id"], "result": {
            "protocolVersion": "2025-06-18", "serverInfo": {"name": "process", "version": "1"},
            "capabilities": {"tools": {}, "logging": {}}}})
    elif method == "tools/call" and message["params"]["name"] == "never":
        pass
    elif method == "tools/call":
        say({"id": message["id"], "result": call(message)})
    elif method == "tools/list":
        say({"id": message["id"], "result": {"tools": [{"name": "pid", "inputSchema": {}}]}})
    elif method == "logging/setLevel":
        say({"id": message["id"], "result": {}})
    else:
        say({"id": message["id"], "error": {"code": -32601, "message": "unknown"}})
