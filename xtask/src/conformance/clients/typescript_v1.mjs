// The official TypeScript client before its version 2: lists the tools of a server and calls some.
//
// Arguments: the URL, and a JSON list of calls, each with `tool`, `arguments`, and `text` or `error`.

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [, , url, calls] = process.argv;
const token = process.env.MCP_TOKEN;
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
const client = new Client({ name: 'cynode-tests', version: '1.0.0' });
await client.connect(transport);

let page = await client.listTools();
const tools = [...page.tools];
while (page.nextCursor) {
  page = await client.listTools({ cursor: page.nextCursor });
  tools.push(...page.tools);
}
const wanted = JSON.parse(calls);
for (const call of wanted) {
  assert(tools.some((tool) => tool.name === call.tool), `${call.tool} is not listed`);
  const answer = await client.callTool({ name: call.tool, arguments: call.arguments });
  const text = answer.content.map((part) => part.text ?? '').join('');
  assert.equal(answer.isError ?? false, call.error ?? false, text);
  assert(text.includes(call.text ?? ''), text);
}

console.log(`${transport.protocolVersion}, ${tools.length} tools, ${wanted.length} calls`);
await transport.terminateSession();
await client.close();
