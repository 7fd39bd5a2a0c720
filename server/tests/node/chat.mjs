// Chat Completions by OpenAI's own client for Node.
import assert from "node:assert/strict";
import { key, load, refused, url } from "./clients.mjs";

const { default: OpenAI } = load("openai");
const { zodResponseFormat, zodFunction } = load("openai/helpers/zod");
const z = load("zod");

const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 });
const ask = (content) => ({ model: "tea", messages: [{ role: "user", content }] });

// A whole reply.
const whole = await client.chat.completions.create(ask("think Hm.\nsay Hello, world!"));
assert.equal(whole.choices[0].message.content, "Hello, world!");
assert.equal(whole.choices[0].message.reasoning_content, "Hm.");
assert.equal(whole.choices[0].finish_reason, "stop");
assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens);

// A stream by hand, and by the client's own collector.
const pieces = [];
const chunks = await client.chat.completions.create({ ...ask("say one two three"), stream: true });
for await (const chunk of chunks) pieces.push(chunk.choices[0]?.delta.content ?? "");
assert.equal(pieces.join(""), "one two three");
assert.ok(pieces.filter(Boolean).length > 1, pieces);

const events = [];
const runner = client.chat.completions.stream({ ...ask("say one two"), stream_options: { include_usage: true } });
runner.on("content", (delta) => events.push(delta));
const final = await runner.finalChatCompletion();
assert.equal(final.choices[0].message.content, "one two");
assert.equal(events.join(""), "one two");
assert.ok((await runner.totalUsage()).total_tokens > 0);

// Tools: one call, and two at once, run by the client until the model says something else.
const weather = zodFunction({
  name: "weather",
  parameters: z.object({ city: z.string() }),
  function: ({ city }) => `say It is cold in ${city}.`,
});
const called = await client.chat.completions
  .runTools({ ...ask('call weather {"city":"Oslo"}'), tools: [weather] })
  .finalContent();
assert.equal(called, "say It is cold in Oslo.");
const twice = client.chat.completions.runTools({
  ...ask('call weather {"city":"Oslo"}\ncall weather {"city":"Bergen"}'),
  tools: [weather],
  stream: true,
});
assert.match(await twice.finalContent(), /Oslo.*Bergen/s);
assert.equal(twice.messages.filter((message) => message.role === "tool").length, 2);

// Structured outputs.
const format = zodResponseFormat(z.object({ name: z.string(), age: z.number() }), "person");
const parsed = await client.chat.completions.parse({ ...ask('say {"name":"Ann","age":7}'), response_format: format });
assert.deepEqual(parsed.choices[0].message.parsed, { name: "Ann", age: 7 });
const streamed = client.chat.completions.stream({ ...ask('say {"name":"Bo","age":8}'), response_format: format });
assert.deepEqual((await streamed.finalChatCompletion()).choices[0].message.parsed, { name: "Bo", age: 8 });

// A stream that the client leaves.
const left = client.chat.completions.stream(ask("say one\nwait 200\nsay two\nwait 20000\nsay three"));
left.on("content", () => left.abort());
await assert.rejects(left.done(), OpenAI.APIUserAbortError);

// Stored completions.
const stored = await client.chat.completions.create({ ...ask("say Hello!"), store: true, metadata: { a: "b" } });
const found = await client.chat.completions.retrieve(stored.id);
assert.equal(found.choices[0].message.content, "Hello!");
const listed = [];
for await (const one of client.chat.completions.list({ metadata: { a: "b" } })) listed.push(one.id);
assert.deepEqual(listed, [stored.id]);
const sent = [];
for await (const message of client.chat.completions.messages.list(stored.id)) sent.push(message.content);
assert.deepEqual(sent, ["say Hello!"]);
const updated = await client.chat.completions.update(stored.id, { metadata: { c: "d" } });
assert.deepEqual(updated.metadata, { c: "d" });
assert.ok((await client.chat.completions.delete(stored.id)).deleted);

// Refusals, and a reply that fails midway.
await refused(() => client.chat.completions.create({ ...ask("Hi"), model: "coffee" }), { status: 404, param: "model" });
await refused(() => client.chat.completions.create({ ...ask("Hi"), n: 2 }), { status: 400, param: "n" });
await refused(() => client.chat.completions.create({ ...ask("Hi"), tea: 1 }), { status: 400, param: "tea" });
await refused(() => client.chat.completions.retrieve("chatcmpl-none"), { status: 404, code: "not_found" });
await refused(() => client.chat.completions.create(ask("fail")), { status: 500 });
await refused(async () => {
  const broken = await client.chat.completions.create({ ...ask("say one\nfail"), stream: true });
  for await (const _ of broken);
}, { code: "backend" });
const stranger = new OpenAI({ baseURL: url, apiKey: "no", maxRetries: 0 });
await refused(() => stranger.models.list(), { status: 401, code: "invalid_api_key" });
console.log("done");
