// The AI SDK over Responses: OpenAI's provider and that of Open Responses.
import assert from "node:assert/strict";
import { key, load, url } from "./clients.mjs";

const { generateText, stepCountIs, streamText, tool } = load("ai");
const { createOpenAI } = load("@ai-sdk/openai");
const { createOpenResponses } = load("@ai-sdk/open-responses");
const z = load("zod");

const openai = createOpenAI({ baseURL: url, apiKey: key });
const open = createOpenResponses({ name: "alloquy", url: `${url}/responses`, apiKey: key });
const weather = tool({
  description: "The weather.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is cold in ${city}.`,
});

for (const model of [openai.responses("tea"), open("tea")]) {
  const whole = await generateText({ model, prompt: "say Hello, world!", maxRetries: 0 });
  assert.equal(whole.text, "Hello, world!");
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
}

// A turn that follows a stored one.
const first = await generateText({ model: openai.responses("tea"), prompt: "say one", maxRetries: 0 });
const next = await generateText({
  model: openai.responses("tea"),
  prompt: "say two",
  providerOptions: { openai: { previousResponseId: first.providerMetadata.openai.responseId } },
  maxRetries: 0,
});
assert.equal(next.text, "two");
console.log("done");
