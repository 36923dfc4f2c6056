// The official TypeScript client: lists the tools of the server at argv[2] and calls `echo`.

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const token = process.env.MCP_TOKEN;
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const url = new URL(process.argv[2]);
const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
const client = new Client({ name: 'cynode-tests', version: '1.0.0' });
await client.connect(transport);

const { tools } = await client.listTools();
assert(tools.some((tool) => tool.name === 'echo'));
const answer = await client.callTool({ name: 'echo', arguments: { text: 'from TypeScript' } });
assert.equal(answer.content[0].text, 'from TypeScript');
const failed = await client.callTool({ name: 'test_error_handling', arguments: {} });
assert.equal(failed.isError, true);

console.log(`${transport.protocolVersion}, ${tools.length} tools, echo called`);
await transport.terminateSession();
await client.close();
