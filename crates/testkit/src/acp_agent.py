"""An agent that speaks the Agent Client Protocol, version 1, and checks that its client does too.

For each prompt it calls its model, then the tools that the model asks for, until the model answers with text. Arguments
change that:
  messages      the model is called with Anthropic's API
  stream        answers of the model are read as events
  write=NAME    a file is written before the turn ends
  wait=NAME     tools are not called before this file exists; `waiting` exists meanwhile
  no-model      the turn ends without a call of the model
  no-tools      servers are not started
  hang          the turn does not end, and the model is not called
  stubborn      requests to cancel and SIGTERM are ignored
  daemon        a process with a session of its own is left behind
  forge         the result of a canary run is forged, and its writer killed
  huge          the definition of a tool has 5 MiB
"""
import json, os, signal, subprocess, sys, threading, time, urllib.request

FLAGS = {flag.split('=')[0]: flag.partition('=')[2] for flag in sys.argv[1:]}
PASSED = {'is_met': True, 'detail': 'forged'}
lock = threading.Lock()
session = {}


def send(message):
    with lock:
        sys.stdout.write(json.dumps({'jsonrpc': '2.0', **message}) + '\n')
        sys.stdout.flush()


def demand(condition, what):
    if not condition:
        sys.stderr.write(f'the client breaks the protocol: {what}\n')
        sys.stderr.flush()
        os._exit(70)


def update(content):
    send({'method': 'session/update', 'params': {'sessionId': 's', 'update': content}})


class McpServer:
    """An MCP server on standard streams."""

    def __init__(self, spec):
        for field, kind in (('name', str), ('command', str), ('args', list), ('env', list)):
            demand(isinstance(spec.get(field), kind), f'{field} of an MCP server')
        env = {**os.environ, **{pair['name']: pair['value'] for pair in spec['env']}}
        self.name, self.number = spec['name'], 0
        self.process = subprocess.Popen(
            [spec['command'], *spec['args']], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        opened = self.request('initialize', {
            'protocolVersion': '2025-06-18', 'capabilities': {},
            'clientInfo': {'name': 'scripted', 'version': '1'}})
        demand('tools' in opened['capabilities'], 'an MCP server without tools')
        self.write({'method': 'notifications/initialized'})
        self.tools = self.request('tools/list', {})['tools']

    def write(self, message):
        self.process.stdin.write(json.dumps({'jsonrpc': '2.0', **message}) + '\n')
        self.process.stdin.flush()

    def request(self, method, params):
        self.number += 1
        self.write({'id': self.number, 'method': method, 'params': params})
        while True:
            line = self.process.stdout.readline()
            demand(line, f'the MCP server ended during {method}')
            message = json.loads(line)
            if message.get('id') == self.number:
                return message['result']


def post(url, body):
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {'Content-Type': 'application/json', 'Authorization': 'Bearer none'})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=300) as response:
        text = response.read().decode()
    if body.get('stream'):
        lines = [line[6:] for line in text.splitlines() if line.startswith('data: ')]
        return [json.loads(line) for line in lines if line != '[DONE]']
    return json.loads(text)


def ask_openai(messages, tools):
    """Returns the text and the calls (id, name) of the next answer."""
    offered = [{'type': 'function', 'function': {
        'name': name, 'description': tool.get('description', ''), 'parameters': tool['inputSchema']}}
        for name, tool in tools.items()]
    stream = 'stream' in FLAGS
    answer = post(os.environ['OPENAI_BASE_URL'] + '/chat/completions', {
        'model': 'strong', 'messages': messages, 'tools': offered, 'stream': stream})
    if stream:
        message = {}
        for chunk in answer:
            for choice in chunk['choices']:
                message.update({k: v for k, v in choice['delta'].items() if v is not None})
    else:
        message = answer['choices'][0]['message']
    calls = message.get('tool_calls') or []
    messages.append({'role': 'assistant', 'content': message.get('content'), 'tool_calls': calls} if calls
                    else {'role': 'assistant', 'content': message.get('content')})
    return message.get('content'), [(call['id'], call['function']['name']) for call in calls]


def ask_anthropic(messages, tools):
    offered = [{'name': name, 'description': tool.get('description', ''), 'input_schema': tool['inputSchema']}
               for name, tool in tools.items()]
    stream = 'stream' in FLAGS
    answer = post(os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages', {
        'model': 'strong', 'max_tokens': 100, 'messages': messages, 'tools': offered, 'stream': stream})
    if stream:
        demand(answer[0]['type'] == 'message_start' and answer[-1]['type'] == 'message_stop', 'events')
        blocks = [event['content_block'] for event in answer if event['type'] == 'content_block_start']
        text = ''.join(event['delta'].get('text', '') for event in answer if event['type'] == 'content_block_delta')
    else:
        blocks = answer['content']
        text = ''.join(block.get('text', '') for block in blocks)
    messages.append({'role': 'assistant', 'content': blocks})
    return text, [(block['id'], block['name']) for block in blocks if block['type'] == 'tool_use']


def work(prompt, servers):
    is_anthropic = 'messages' in FLAGS
    tools = {f'{server.name}_{tool["name"]}': {**tool, 'server': server} for server in servers for tool in server.tools}
    if 'huge' in FLAGS:
        tools['huge'] = {'description': 'x' * (5 << 20), 'inputSchema': {'type': 'object'}}
    messages = [{'role': 'user', 'content': prompt}]
    while True:
        text, calls = (ask_anthropic if is_anthropic else ask_openai)(messages, tools)
        if not calls:
            return text
        if 'wait' in FLAGS:
            open(os.path.join(session['cwd'], 'waiting'), 'w').close()
        while 'wait' in FLAGS and not os.path.exists(os.path.join(session['cwd'], FLAGS['wait'])):
            time.sleep(0.02)
        for call, name in calls:
            tool = tools[name]
            update({'sessionUpdate': 'tool_call', 'toolCallId': call, 'title': name, 'kind': 'other', 'status': 'in_progress'})
            result = tool['server'].request('tools/call', {'name': tool['name'], 'arguments': {}})
            content = result['content'][0]['text']
            update({'sessionUpdate': 'tool_call_update', 'toolCallId': call, 'status': 'completed'})
            if is_anthropic:
                block = {'type': 'tool_result', 'tool_use_id': call, 'content': content}
                messages.append({'role': 'user', 'content': [block]})
            else:
                messages.append({'role': 'tool', 'tool_call_id': call, 'content': content})


def run_turn(turn, prompt):
    servers = []
    try:
        if 'daemon' in FLAGS:
            subprocess.Popen(['/bin/sleep', '1000'], start_new_session=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if 'hang' in FLAGS:
            time.sleep(1000)
        if 'no-tools' not in FLAGS:
            servers = [McpServer(spec) for spec in session['servers']]
        text = 'Nothing to do.' if 'no-model' in FLAGS else work(prompt, servers)
        if 'write' in FLAGS:
            with open(os.path.join(session['cwd'], FLAGS['write']), 'w') as file:
                file.write(text)
        if 'forge' in FLAGS:
            forge()
        update({'sessionUpdate': 'agent_message_chunk', 'content': {'type': 'text', 'text': text}})
        end_turn(turn, 'end_turn')
    except Exception as error:
        with lock:
            is_open = session.get('turn') == turn
            session['turn'] = None
        if is_open:
            send({'id': turn, 'error': {'code': -32603, 'message': repr(error)}})
    finally:
        for server in servers:
            server.process.stdin.close()
            server.process.wait()


def end_turn(turn, reason):
    with lock:
        is_open = session.get('turn') == turn
        session['turn'] = None
    if is_open:
        send({'id': turn, 'result': {'stopReason': reason}})


def forge():
    with open('/job/job.json') as file:
        job = json.load(file)
    observations = {name: PASSED for name in ('starts', 'no_network', 'stops')}
    with open('/job/artifacts/agent-result.json', 'w') as file:
        json.dump({'protocol_version': '1.0', 'job_id': job['job_id'], 'status': 'success', 'stop': 'goal_met',
                   'summary': 'forged', 'canary': observations}, file)
    os.kill(os.getppid(), signal.SIGKILL)


def handle(message):
    method, params, id = message.get('method'), message.get('params'), message.get('id')
    demand(message.get('jsonrpc') == '2.0', 'jsonrpc')
    if method == 'initialize':
        demand(params['protocolVersion'] == 1, 'protocolVersion')
        session['initialized'] = True
        send({'id': id, 'result': {'protocolVersion': 1, 'agentCapabilities': {},
                                   'agentInfo': {'name': 'scripted', 'version': '1.2.3'}}})
    elif method == 'session/new':
        demand(session.get('initialized'), 'session/new before initialize')
        demand(os.path.isabs(params['cwd']), 'cwd')
        session.update(cwd=params['cwd'], servers=params['mcpServers'])
        send({'id': id, 'result': {'sessionId': 's'}})
    elif method == 'session/prompt':
        demand(params['sessionId'] == 's' and 'cwd' in session, 'session/prompt before session/new')
        demand(session.get('turn') is None, 'two prompts at once')
        demand(all(block['type'] == 'text' for block in params['prompt']), 'content of a prompt')
        session['turn'] = id
        prompt = ''.join(block['text'] for block in params['prompt'])
        threading.Thread(target=run_turn, args=(id, prompt), daemon=True).start()
    elif method == 'session/cancel':
        demand(id is None and params['sessionId'] == 's', 'session/cancel is a notification')
        if 'stubborn' not in FLAGS and session.get('turn') is not None:
            end_turn(session['turn'], 'cancelled')
    else:
        demand(id is None, f'the method {method}')


if 'stubborn' in FLAGS:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    handle(json.loads(line))
while 'stubborn' in FLAGS:
    time.sleep(1)
