// The official TypeScript client since its version 2: lists the tools of a server and calls some.
//
// Arguments: the URL, a JSON list of calls, each with `tool`, `arguments`, and `text` or `error`, and
// how to begin: `legacy` with a session, or the revision without sessions.

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [, , url, calls, begin] = process.argv;
const token = process.env.MCP_TOKEN;
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
const mode = begin === 'legacy' ? begin : { pin: begin };
const about = { name: 'cynode-tests', version: '1.0.0' };
const client = new Client(about, { versionNegotiation: { mode } });
await client.connect(transport);

// Without a cursor this version of the client gathers every page.
const { tools } = await client.listTools();
const wanted = JSON.parse(calls);
for (const call of wanted) {
  assert(tools.some((tool) => tool.name === call.tool), `${call.tool} is not listed`);
  const answer = await client.callTool({ name: call.tool, arguments: call.arguments });
  const text = answer.content.map((part) => part.text ?? '').join('');
  assert.equal(answer.isError ?? false, call.error ?? false, text);
  assert(text.includes(call.text ?? ''), text);
}

console.log(`${client.getNegotiatedProtocolVersion()}, ${tools.length} tools, ${wanted.length} calls`);
await client.close();
