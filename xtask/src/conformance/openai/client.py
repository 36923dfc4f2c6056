"""The official OpenAI client talks to the orchestrator, with a provider that this script plays.

Argument: the orchestrator's address. The administrator's token is in OPENAI_API_KEY. Prints one line of
JSON for each check: its name, whether it passed, and what was seen.
"""

import asyncio
import json
import os
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai
from openai import AsyncOpenAI, OpenAI

ADDRESS = sys.argv[1]
BASE = f"http://{ADDRESS}/v1"
TOKEN = os.environ["OPENAI_API_KEY"]
MODEL = "played/parrot"
MANAGER = "cynodeai.pm"
QUESTION = [{"role": "user", "content": "say hello"}]
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
SEEN = []
HUNG_UP = threading.Event()


class Provider(BaseHTTPRequestHandler):
    """Chooses the answer by the last message."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        SEEN.append(body)
        text = body["messages"][-1].get("content") or ""
        if "fail" in text:
            self.whole(500, {"error": {"message": "broken", "type": "server_error"}})
        elif "reject" in text:
            self.whole(400, {"error": {"message": "no such option", "type": "invalid_request_error"}})
        elif "for ever" in text:
            self.for_ever()
        elif body.get("stream"):
            self.pieces(body)
        else:
            self.whole(200, self.completion(body))

    def completion(self, body):
        message, reason = {"role": "assistant", "content": "Hello there."}, "stop"
        call = wanted(body)
        if call:
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            reason = "tool_calls"
        return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}

    def whole(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def begin(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def piece(self, delta, reason=None):
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "parrot",
                 "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def pieces(self, body):
        self.begin()
        call = wanted(body)
        if call:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            first = {**call, "index": 0, "function": {"name": name, "arguments": ""}}
            self.piece({"role": "assistant", "content": None, "tool_calls": [first]})
            for part in (arguments[:1], arguments[1:]):
                self.piece({"tool_calls": [{"index": 0, "function": {"arguments": part}}]})
            self.piece({}, "tool_calls")
        else:
            self.piece({"role": "assistant", "content": ""})
            for word in ("Hello", " there", "."):
                self.piece({"content": word})
            self.piece({}, "stop")
        if (body.get("stream_options") or {}).get("include_usage"):
            usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
            chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                     "model": "parrot", "choices": [], "usage": usage}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def for_ever(self):
        self.begin()
        try:
            while True:
                self.piece({"content": "on and on, and so on and so forth, without any end. "})
                time.sleep(0.02)
        except OSError:
            HUNG_UP.set()


CALL = {"id": "call_1", "type": "function",
        "function": {"name": "look_up", "arguments": '{"city":"Rome"}'}}
LOOK = {"id": "call_2", "type": "function",
        "function": {"name": "db_task_list", "arguments": "{}"}}


def wanted(body):
    """The tool call of this provider: a client's tool, or one of the project manager's own."""
    names = [tool["function"]["name"] for tool in body.get("tools") or []]
    last = body["messages"][-1]
    if last["role"] != "user" or not names:
        return None
    if "db_task_list" in names:
        return LOOK if "look around" in last["content"] else None
    return CALL


def put(path, body):
    request = urllib.request.Request(f"{BASE}{path}", json.dumps(body).encode(), method="PUT")
    request.add_header("authorization", f"Bearer {TOKEN}")
    request.add_header("content-type", "application/json")
    urllib.request.urlopen(request).read()


def models(client):
    ids = [model.id for model in client.models.list()]
    assert ids[0] == "cynodeai.pm" and MODEL in ids, ids
    assert client.models.retrieve(MODEL).id == MODEL
    return ids


def whole(client):
    answer = client.chat.completions.create(model=MODEL, messages=QUESTION, seed=7)
    assert answer.choices[0].message.content == "Hello there."
    assert answer.usage.total_tokens == 5
    assert SEEN[-1]["seed"] == 7, "an option did not reach the provider"
    assert answer._request_id, "there is no request id"
    return answer.choices[0].message.content


def streamed(client):
    stream = client.chat.completions.create(
        model=MODEL, messages=QUESTION, stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "Hello there.", text
    assert chunks[-1].usage.total_tokens == 5 and not chunks[-1].choices
    return f"{len(chunks)} chunks"


def helper(client):
    with client.chat.completions.stream(model=MODEL, messages=QUESTION) as stream:
        text = "".join(event.delta for event in stream if event.type == "content.delta")
        final = stream.get_final_completion()
    assert text == final.choices[0].message.content == "Hello there.", text
    return text


def tools(client):
    first = client.chat.completions.create(model=MODEL, messages=QUESTION, tools=TOOLS)
    call = first.choices[0].message.tool_calls[0]
    assert call.function.name == "look_up" and json.loads(call.function.arguments)["city"] == "Rome"
    told = [*QUESTION, first.choices[0].message,
            {"role": "tool", "tool_call_id": call.id, "content": "warm"}]
    second = client.chat.completions.create(model=MODEL, messages=told, tools=TOOLS)
    assert second.choices[0].message.content == "Hello there."
    assert SEEN[-1]["messages"][-1]["tool_call_id"] == "call_1"
    return call.function.arguments


def streamed_tools(client):
    stream = client.chat.completions.create(model=MODEL, messages=QUESTION, tools=TOOLS, stream=True)
    parts = [c.choices[0].delta.tool_calls[0] for c in stream if c.choices[0].delta.tool_calls]
    arguments = "".join(part.function.arguments or "" for part in parts)
    assert parts[0].function.name == "look_up" and json.loads(arguments) == {"city": "Rome"}
    return arguments


def asynchronous(_):
    async def both():
        async with AsyncOpenAI(base_url=BASE, api_key=TOKEN, max_retries=0) as client:
            async def one():
                answer = await client.chat.completions.create(model=MODEL, messages=QUESTION)
                return answer.choices[0].message.content

            async def pieces():
                stream = await client.chat.completions.create(
                    model=MODEL, messages=QUESTION, stream=True)
                return "".join([c.choices[0].delta.content or "" async for c in stream])
            return await asyncio.gather(*(one() for _ in range(8)), *(pieces() for _ in range(8)))

    answers = asyncio.run(both())
    assert answers == ["Hello there."] * 16, answers
    return f"{len(answers)} answers at once"


def errors(client):
    cases = [
        (openai.AuthenticationError, "authentication_required",
         lambda: client.with_options(api_key="nobody").chat.completions.create(
             model=MODEL, messages=QUESTION)),
        (openai.NotFoundError, "model_not_found",
         lambda: client.chat.completions.create(model="gpt-9", messages=QUESTION)),
        (openai.NotFoundError, "model_not_found",
         lambda: client.chat.completions.create(model="gpt-9", messages=QUESTION, stream=True)),
        (openai.BadRequestError, "invalid_request",
         lambda: client.chat.completions.create(model=MODEL, messages=[])),
        (openai.BadRequestError, "invalid_request",
         lambda: client.chat.completions.create(
             model=MODEL, messages=[{"role": "user", "content": "reject this"}])),
        (openai.NotFoundError, "project_not_found",
         lambda: OpenAI(base_url=BASE, api_key=TOKEN, project="nowhere", max_retries=0)
            .chat.completions.create(model=MODEL, messages=QUESTION)),
        (openai.InternalServerError, "orchestrator_inference_failed",
         lambda: client.chat.completions.create(
             model=MODEL, messages=[{"role": "user", "content": "fail please"}])),
    ]
    for expected, code, call in cases:
        try:
            call()
        except expected as error:
            assert error.code == code, f"{error.code} is not {code}"
            assert error.type == "cynodeai_error", error.type
        else:
            raise AssertionError(f"{code} was not raised")
    return f"{len(cases)} errors"


def responses(client):
    first = client.responses.create(model=MODEL, input="say hello", instructions="be brief")
    assert first.output_text == "Hello there." and first.usage.total_tokens == 5, first
    assert first.id.startswith("resp_") and first.status == "completed", first
    again = client.responses.create(
        model=MODEL, previous_response_id=first.id,
        input=[{"role": "user", "content": [{"type": "input_text", "text": "say it again"}]}])
    told = [message["content"] for message in SEEN[-1]["messages"]]
    assert told == ["say hello", "Hello there.", "say it again"], told
    assert again.previous_response_id == first.id
    assert client.responses.retrieve(first.id).output_text == "Hello there."
    return told


def streamed_responses(client):
    stream = client.responses.create(model=MODEL, input="say hello", stream=True)
    events = list(stream)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    last = events[-1]
    assert events[0].type == "response.created" and last.type == "response.completed", last.type
    assert text == last.response.output_text == "Hello there.", text
    with client.responses.stream(model=MODEL, input="say hello") as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    assert final.output_text == "Hello there." and final.usage.total_tokens == 5
    return sorted({event.type for event in events})


def response_tools(client):
    flat = [{"type": "function", **TOOLS[0]["function"]}]
    first = client.responses.create(model=MODEL, input="how warm is it?", tools=flat)
    call = first.output[0]
    assert call.type == "function_call" and json.loads(call.arguments)["city"] == "Rome", call
    second = client.responses.create(
        model=MODEL, tools=flat, previous_response_id=first.id,
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": "warm"}])
    assert second.output_text == "Hello there."
    assert SEEN[-1]["messages"][-2]["tool_calls"][0]["id"] == call.call_id
    events = list(client.responses.create(
        model=MODEL, input="how warm is it?", tools=flat, stream=True))
    done = next(e for e in events if e.type == "response.function_call_arguments.done")
    assert json.loads(done.arguments) == {"city": "Rome"}, done
    return call.arguments


def response_errors(client):
    cases = [
        (openai.BadRequestError, "invalid_request",
         lambda: client.responses.create(model=MODEL, input="hi", background=True)),
        (openai.BadRequestError, "invalid_request",
         lambda: client.responses.create(model=MODEL, input="hi", tools=[{"type": "web_search"}])),
        (openai.BadRequestError, "response_not_found",
         lambda: client.responses.create(model=MODEL, input="hi", previous_response_id="resp_1")),
        (openai.NotFoundError, "response_not_found", lambda: client.responses.retrieve("resp_1")),
        (openai.NotFoundError, "model_not_found",
         lambda: client.responses.create(model="gpt-9", input="hi", stream=True)),
        (openai.InternalServerError, "orchestrator_inference_failed",
         lambda: client.responses.create(model=MODEL, input="fail please")),
    ]
    for expected, code, call in cases:
        try:
            call()
        except expected as error:
            assert error.code == code, f"{error.code} is not {code}"
        else:
            raise AssertionError(f"{code} was not raised")
    return f"{len(cases)} errors"


def secrets(client):
    key = "sk-proj-" + "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6"
    client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": f"my key is {key}"}])
    said = SEEN[-1]["messages"][-1]["content"]
    assert "SECRET_REDACTED" in said and key[8:] not in said, said
    return said


def hung_up(client):
    stream = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "talk for ever"}], stream=True)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()
    assert HUNG_UP.wait(20), "the provider went on"
    return "the provider noticed"


def hello_of(model):
    """Every answer contains the text of the provider that this script simulates."""
    assert model == MANAGER, f"{model} answered"
    assert SEEN[-1]["messages"][0]["role"] == "system", "the project manager gave no instructions"


def manager(client):
    answer = client.chat.completions.create(model=MANAGER, messages=QUESTION)
    assert answer.choices[0].message.content == "Hello there.", answer
    assert answer.choices[0].finish_reason == "stop" and answer.usage.total_tokens == 5, answer
    hello_of(answer.model)
    return answer.choices[0].message.content


def manager_streamed(client):
    stream = client.chat.completions.create(
        model=MANAGER, messages=QUESTION, stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    texts = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
    assert "".join(texts) == "Hello there." and len(texts) > 1, texts
    assert chunks[-1].usage.total_tokens == 5 and not chunks[-1].choices, chunks[-1]
    with client.chat.completions.stream(model=MANAGER, messages=QUESTION) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "Hello there.", final
    hello_of(final.model)
    return f"{len(texts)} pieces"


def manager_asynchronous(_):
    async def all_at_once():
        async with AsyncOpenAI(base_url=BASE, api_key=TOKEN, max_retries=0) as client:
            async def one():
                answer = await client.chat.completions.create(model=MANAGER, messages=QUESTION)
                return answer.choices[0].message.content

            async def pieces():
                stream = await client.chat.completions.create(
                    model=MANAGER, messages=QUESTION, stream=True)
                return "".join([c.choices[0].delta.content or "" async for c in stream])
            return await asyncio.gather(*(one() for _ in range(4)), *(pieces() for _ in range(4)))

    answers = asyncio.run(all_at_once())
    assert answers == ["Hello there."] * 8, answers
    return f"{len(answers)} answers at once"


def manager_tools(client):
    """The manager uses its own tools; the client sees their names and results."""
    question = [{"role": "user", "content": "please look around"}]
    chunks = list(client.chat.completions.create(model=MANAGER, messages=question, stream=True))
    shown = [c.model_extra["cynodeai"]["tool"] for c in chunks if "cynodeai" in c.model_extra]
    assert [(tool["name"], tool["succeeded"]) for tool in shown] == [("db.task.list", True)], shown
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "Hello there.", text
    assert SEEN[-1]["messages"][-1]["role"] == "tool", SEEN[-1]["messages"][-1]
    whole = client.chat.completions.create(model=MANAGER, messages=question)
    assert whole.choices[0].message.content == "Hello there." and not whole.choices[0].message.tool_calls
    return shown


def manager_responses(client):
    first = client.responses.create(model=MANAGER, input="say hello")
    assert first.output_text == "Hello there." and first.status == "completed", first
    hello_of(first.model)
    again = client.responses.create(
        model=MANAGER, input="say it again", previous_response_id=first.id)
    assert again.output_text == "Hello there." and again.previous_response_id == first.id, again
    told = [message["content"] for message in SEEN[-1]["messages"][1:]]
    assert told == ["say hello", "Hello there.", "say it again"], told
    assert client.responses.retrieve(again.id).output_text == "Hello there."
    events = list(client.responses.create(model=MANAGER, input="say hello", stream=True))
    text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    assert events[0].type == "response.created" and events[-1].type == "response.completed"
    assert text == events[-1].response.output_text == "Hello there.", text
    streamed = client.responses.create(
        model=MANAGER, input="once more", previous_response_id=events[-1].response.id, stream=True)
    assert list(streamed)[-1].response.output_text == "Hello there."
    told = [message["content"] for message in SEEN[-1]["messages"][1:]]
    assert told == ["say hello", "Hello there.", "once more"], told
    return told


def manager_hung_up(client):
    """A client that disconnects ends the manager's model call."""
    HUNG_UP.clear()
    stream = client.chat.completions.create(
        model=MANAGER, messages=[{"role": "user", "content": "talk for ever"}], stream=True)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()
    assert HUNG_UP.wait(20), "the provider went on"
    return "the provider noticed"


def main():
    provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    provider.daemon_threads = True
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    put("/model-providers/played", {
        "kind": "openai", "base_url": f"http://127.0.0.1:{provider.server_port}/v1",
        "models": ["parrot"], "allow": "everyone"})
    client = OpenAI(base_url=BASE, api_key=TOKEN, max_retries=0)
    checks = [models, whole, streamed, helper, tools, streamed_tools, asynchronous, errors,
              responses, streamed_responses, response_tools, response_errors, secrets, hung_up,
              manager, manager_streamed, manager_asynchronous, manager_tools, manager_responses,
              manager_hung_up]
    for check in checks:
        try:
            said, passed = str(check(client)), True
        except Exception as error:  # Every check is told of, whatever went wrong in it.
            said, passed = f"{type(error).__name__}: {error}", False
        print(json.dumps({"check": check.__name__, "passed": passed, "said": said}), flush=True)


main()
