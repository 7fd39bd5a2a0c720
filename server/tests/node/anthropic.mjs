// Messages by Anthropic's own client for Node.
import assert from "node:assert/strict";
import { key, load, refused, root } from "./clients.mjs";

const { default: Anthropic } = load("@anthropic-ai/sdk");

const client = new Anthropic({ baseURL: root, apiKey: key, maxRetries: 0 });
const ask = (content) => ({ model: "tea", max_tokens: 100, messages: [{ role: "user", content }] });

const whole = await client.messages.create({ ...ask("say Hello, world!"), system: "Be brief." });
assert.equal(whole.type, "message");
assert.deepEqual(whole.content.map((block) => [block.type, block.text]), [["text", "Hello, world!"]]);
assert.equal(whole.stop_reason, "end_turn");
assert.ok(whole.usage.input_tokens > 0 && whole.usage.output_tokens > 0, whole.usage);

// A stream by the client's collector, and its events by hand.
const texts = [];
const stream = client.messages.stream(ask("say one two three"));
stream.on("text", (text) => texts.push(text));
const final = await stream.finalMessage();
assert.equal(final.content[0].text, "one two three");
assert.equal(texts.join(""), "one two three");
const types = [];
for await (const event of await client.messages.create({ ...ask("say one"), stream: true })) types.push(event.type);
assert.equal(types[0], "message_start");
assert.ok(types.indexOf("content_block_start") < types.indexOf("content_block_delta"), types);
assert.deepEqual(types.slice(-3), ["content_block_stop", "message_delta", "message_stop"]);

// A tool: the call, and what it returned.
const tools = [{ name: "weather", description: "The weather.", input_schema: { type: "object", properties: { city: { type: "string" } } } }];
const called = await client.messages.create({ ...ask('call weather {"city":"Oslo"}'), tools });
assert.equal(called.stop_reason, "tool_use");
const call = called.content.find((block) => block.type === "tool_use");
assert.deepEqual(call.input, { city: "Oslo" });
const answered = await client.messages.create({
  ...ask(""),
  tools,
  messages: [
    { role: "user", content: 'call weather {"city":"Oslo"}' },
    { role: "assistant", content: called.content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "It is cold." }] },
  ],
});
assert.equal(answered.content[0].text, "It is cold.");
const streamedCall = await client.messages.stream({ ...ask('say Hm.\ncall weather {"city":"Oslo"}'), tools }).finalMessage();
assert.deepEqual(streamedCall.content.map((block) => block.type), ["text", "tool_use"]);
assert.deepEqual(streamedCall.content[1].input, { city: "Oslo" });

const counted = await client.messages.countTokens({ model: "tea", messages: [{ role: "user", content: "Hi" }] });
assert.ok(counted.input_tokens > 0, counted);

await refused(() => client.messages.create({ ...ask("Hi"), model: "coffee" }), { status: 404 });
await refused(() => client.messages.create({ ...ask("Hi"), tea: 1 }), { status: 400 });
const stranger = new Anthropic({ baseURL: root, apiKey: "no", maxRetries: 0 });
await refused(() => stranger.messages.create(ask("Hi")), { status: 401 });
console.log("done");
