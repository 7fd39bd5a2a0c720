// Responses and Conversations by OpenAI's own client for Node.
import assert from "node:assert/strict";
import { key, load, refused, url } from "./clients.mjs";

const { default: OpenAI } = load("openai");
const { zodTextFormat } = load("openai/helpers/zod");
const z = load("zod");

const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 });
const ask = (input) => ({ model: "tea", input });
const tools = [
  { type: "function", name: "weather", strict: false, parameters: { type: "object", properties: { city: { type: "string" } } } },
];

// A whole response; it is stored by default.
const first = await client.responses.create(ask("think Hm.\nsay Hello, world!"));
assert.equal(first.output_text, "Hello, world!");
assert.equal(first.status, "completed");
assert.deepEqual(first.output.map((item) => item.type), ["reasoning", "message"]);
assert.equal((await client.responses.retrieve(first.id)).output_text, "Hello, world!");
const items = [];
for await (const item of client.responses.inputItems.list(first.id)) items.push(item);
assert.equal(items[0].content[0].text, "think Hm.\nsay Hello, world!");

// A stream: every event has the fields by which the client finds its place.
const seen = [];
const stream = client.responses.stream({ ...ask('think Hm.\nsay one two\ncall weather {"city":"Oslo"}'), tools });
for await (const event of stream) seen.push(event);
const final = await stream.finalResponse();
assert.equal(final.output_text, "one two");
assert.deepEqual(final.output.map((item) => item.type), ["reasoning", "message", "function_call"]);
assert.equal(seen[0].type, "response.created");
assert.equal(seen[1].type, "response.in_progress");
assert.equal(seen.at(-1).type, "response.completed");
assert.deepEqual(seen.map((event) => event.sequence_number), seen.map((_, index) => index));
for (const event of seen) {
  const isInside = /output_text|content_part|arguments|reasoning_text/.test(event.type);
  if (isInside) assert.ok("output_index" in event && "item_id" in event, event);
  if (/output_text|content_part|reasoning_text/.test(event.type)) assert.ok("content_index" in event, event);
}

// Branches: two responses that follow one, and one that follows an older one.
const left = await client.responses.create({ ...ask("say left"), previous_response_id: first.id });
const right = await client.responses.create({ ...ask("say right"), previous_response_id: first.id });
assert.notEqual(left.id, right.id);
const [one, two] = await Promise.all(
  ["one", "two"].map((word) => client.responses.create({ ...ask(`say ${word}`), previous_response_id: left.id })),
);
assert.deepEqual([one.output_text, two.output_text], ["one", "two"]);
assert.equal(one.previous_response_id, left.id);

// A call, and what it returned.
const called = await client.responses.create({ ...ask('call weather {"city":"Oslo"}'), tools });
const call = called.output.find((item) => item.type === "function_call");
assert.equal(call.name, "weather");
assert.deepEqual(JSON.parse(call.arguments), { city: "Oslo" });
const answered = await client.responses.create({
  ...ask([{ type: "function_call_output", call_id: call.call_id, output: "It is cold." }]),
  previous_response_id: called.id,
  tools,
});
assert.equal(answered.output_text, "It is cold.");

// Structured outputs.
const format = zodTextFormat(z.object({ name: z.string() }), "person");
const parsed = await client.responses.parse({ ...ask('say {"name":"Ann"}'), text: { format } });
assert.deepEqual(parsed.output_parsed, { name: "Ann" });

// Conversations.
const conversation = await client.conversations.create({ metadata: { a: "b" } });
assert.deepEqual((await client.conversations.retrieve(conversation.id)).metadata, { a: "b" });
const within = await client.responses.create({ ...ask("say within"), conversation: conversation.id });
assert.equal(within.conversation.id, conversation.id);
const kept = [];
for await (const item of client.conversations.items.list(conversation.id, { order: "asc" })) kept.push(item);
assert.deepEqual(kept.map((item) => [item.role, item.content[0].text]), [["user", "say within"], ["assistant", "within"]]);
const item = await client.conversations.items.retrieve(kept[0].id, { conversation_id: conversation.id });
assert.equal(item.id, kept[0].id);
const added = await client.conversations.items.create(conversation.id, {
  items: [{ type: "message", role: "user", content: "say later" }],
});
assert.equal(added.data.length, 1);
assert.deepEqual((await client.conversations.update(conversation.id, { metadata: { c: "d" } })).metadata, { c: "d" });
assert.ok((await client.conversations.delete(conversation.id)).deleted);
await refused(() => client.conversations.retrieve(conversation.id), { status: 404 });

// In the background: asked for, waited for, cancelled, and a stream that is read again from its middle.
let waiting = await client.responses.create({ ...ask("say one\nwait 100\nsay two"), background: true });
assert.match(waiting.status, /queued|in_progress/);
for (let turn = 0; turn < 200 && /queued|in_progress/.test(waiting.status); turn++) {
  await new Promise((resolve) => setTimeout(resolve, 20));
  waiting = await client.responses.retrieve(waiting.id);
}
assert.equal(waiting.status, "completed");
const long = await client.responses.create({ ...ask("say one\nwait 200\nsay two\nwait 20000\nsay three"), background: true });
assert.equal((await client.responses.cancel(long.id)).status, "cancelled");
const streamed = [];
const began = await client.responses.create({ ...ask("say a b c d"), background: true, stream: true });
for await (const event of began) streamed.push(event);
const id = streamed[0].response.id;
const resumed = [];
for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: 3 })) resumed.push(event);
assert.deepEqual(resumed.map((event) => event.sequence_number), streamed.slice(4).map((event) => event.sequence_number));

// Tools of the host: one runs at once, another one after an approval, once.
const host = { type: "mcp", server_label: "sums" };
const sum = 'call add {"a":2,"b":3}';
const running = client.responses.stream({ ...ask(sum), tools: [{ ...host, require_approval: "never" }] });
const kinds = [];
for await (const event of running) kinds.push(event.type);
const ran = await running.finalResponse();
assert.deepEqual(ran.output.map((item) => item.type), ["mcp_list_tools", "mcp_call", "message"]);
assert.equal(ran.output[1].output, "5");
assert.equal(ran.output_text, "5");
assert.ok(kinds.includes("response.mcp_list_tools.completed") && kinds.includes("response.mcp_call.completed"), kinds);
const asked = await client.responses.create({ ...ask(sum), tools: [host] });
assert.deepEqual(asked.output.map((item) => item.type), ["mcp_list_tools", "mcp_approval_request"]);
const decision = { type: "mcp_approval_response", approval_request_id: asked.output[1].id, approve: true };
const approving = { ...ask([decision]), tools: [host], previous_response_id: asked.id };
const approved = await client.responses.create(approving);
assert.deepEqual(approved.output.map((item) => item.type), ["mcp_call", "message"]);
assert.equal(approved.output[0].approval_request_id, decision.approval_request_id);
await refused(() => client.responses.create(approving), { status: 400, code: "approval_already_answered" });

// Shorter: the user's messages and a summary.
const shorter = await client.responses.compact({ model: "tea", previous_response_id: first.id });
assert.deepEqual(shorter.output.map((item) => item.type), ["message", "compaction"]);
const after = await client.responses.create(ask([...shorter.output, { role: "user", content: "say Still here." }]));
assert.equal(after.output_text, "Still here.");

// Deleted, and refused.
await client.responses.delete(right.id);
await refused(() => client.responses.retrieve(right.id), { status: 404 });
await refused(() => client.responses.create({ ...ask("Hi"), previous_response_id: "resp_none" }), {
  status: 400,
  code: "previous_response_not_found",
  param: "previous_response_id",
});
await refused(
  () => client.responses.create({ ...ask("Hi"), previous_response_id: first.id, conversation: conversation.id }),
  { status: 400 },
);
await refused(() => client.responses.create({ ...ask("Hi"), tea: 1 }), { status: 400, param: "tea" });
await refused(() => client.responses.create({ ...ask("Hi"), model: "coffee" }), { status: 404, param: "model" });
console.log("done");
