// Ollama's API by its own client for Node.
import assert from "node:assert/strict";
import { key, load, refused, root } from "./clients.mjs";

const { Ollama } = load("ollama");

const client = new Ollama({ host: root, headers: { Authorization: `Bearer ${key}` } });
const ask = (content) => ({ model: "tea", messages: [{ role: "user", content }] });

const whole = await client.chat(ask("say Hello, world!"));
assert.equal(whole.message.content, "Hello, world!");
assert.equal(whole.done, true);
assert.equal(whole.done_reason, "stop");

const pieces = [];
let last;
for await (const part of await client.chat({ ...ask("say one two three"), stream: true })) {
  pieces.push(part.message.content);
  last = part;
}
assert.equal(pieces.join(""), "one two three");
assert.ok(pieces.length > 1 && last.done, pieces);
assert.ok(last.eval_count > 0, last);

const parameters = { type: "object", properties: { city: { type: "string" } } };
const tools = [{ type: "function", function: { name: "weather", description: "The weather.", parameters } }];
const called = await client.chat({ ...ask('call weather {"city":"Oslo"}'), tools });
assert.deepEqual(called.message.tool_calls[0].function.arguments, { city: "Oslo" });

const generated = await client.generate({ model: "tea", prompt: "say Hello!" });
assert.equal(generated.response, "Hello!");
const texts = [];
for await (const part of await client.generate({ model: "tea", prompt: "say one two", stream: true })) texts.push(part.response);
assert.equal(texts.join(""), "one two");

const listed = await client.list();
assert.ok(listed.models.some((model) => model.name.startsWith("tea")), listed);
await refused(() => client.chat({ ...ask("Hi"), model: "coffee" }), { status_code: 404 });
console.log("done");
