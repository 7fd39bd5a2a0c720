// The AI SDK over Chat Completions.
import assert from "node:assert/strict";
import { key, load, url } from "./clients.mjs";

const { generateObject, generateText, stepCountIs, streamText, tool } = load("ai");
const { createOpenAICompatible } = load("@ai-sdk/openai-compatible");
const { createOpenAI } = load("@ai-sdk/openai");
const z = load("zod");

const compatible = createOpenAICompatible({ name: "alloquy", baseURL: url, apiKey: key, supportsStructuredOutputs: true });
const openai = createOpenAI({ baseURL: url, apiKey: key });
const weather = tool({
  description: "The weather.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is cold in ${city}.`,
});

for (const model of [compatible("tea"), openai.chat("tea")]) {
  const whole = await generateText({ model, prompt: "say Hello, world!", maxRetries: 0 });
  assert.equal(whole.text, "Hello, world!");
  assert.equal(whole.finishReason, "stop");
  assert.ok(whole.usage.inputTokens > 0, whole.usage);

  const stream = streamText({ model, prompt: "say one two three", maxRetries: 0, onError: ({ error }) => { throw error; } });
  const pieces = [];
  for await (const piece of stream.textStream) pieces.push(piece);
  assert.equal(pieces.join(""), "one two three");
  assert.ok(pieces.length > 1, pieces);

  const called = await generateText({
    model,
    prompt: 'call weather {"city":"Oslo"}',
    tools: { weather },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  });
  assert.match(called.text, /cold in Oslo/);
  assert.equal(called.steps.length, 2);

  const object = await generateObject({
    model,
    prompt: 'say {"name":"Ann"}',
    schema: z.object({ name: z.string() }),
    maxRetries: 0,
  });
  assert.deepEqual(object.object, { name: "Ann" });
}

const thought = await generateText({ model: compatible("tea"), prompt: "think Hm.\nsay Yes.", maxRetries: 0 });
assert.equal(thought.reasoningText, "Hm.");
console.log("done");
