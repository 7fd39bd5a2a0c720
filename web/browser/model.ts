// A model with given replies, as a server that `alloquy serve --remote` asks.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedModel {
  /** The arguments of `alloquy serve` that serve it as `scripted`. */
  args: readonly string[];
  /** Sets what is replied to a question, and how many milliseconds each piece takes. */
  reply: (text: (question: string) => string, delay?: number) => void;
  /** Sets which tool is called instead, if any. */
  call: (of: (asked: { tools: readonly string[]; result: string | null }) => Called | null) => void;
  close: () => void;
}

export interface Called {
  name: string;
  arguments: Record<string, unknown>;
}

interface Asked {
  messages: { role: string; content: unknown }[];
  tools?: { function: { name: string } }[];
}

/** The names of the tools, and the result of a call if it is the last message. */
function offered(body: string): { tools: string[]; result: string | null } {
  const { messages, tools } = JSON.parse(body) as Asked;
  const last = messages.at(-1);
  const result = last?.role === 'tool' ? JSON.stringify(last.content) : null;
  return { tools: (tools ?? []).map((tool) => tool.function.name), result };
}

function question(body: string): string {
  const { messages } = JSON.parse(body) as Asked;
  const content = messages.findLast((message) => message.role === 'user')?.content;
  return typeof content === 'string' ? content : JSON.stringify(content ?? '');
}

/** Splits a text into pieces of about a word. */
function pieces(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [text];
}

export async function scriptedModel(): Promise<ScriptedModel> {
  let textOf: (question: string) => string = (asked) => `You said: ${asked}`;
  let callOf: Parameters<ScriptedModel['call']>[0] = () => null;
  let count = 0;
  let delay = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => {
      if (request.method === 'GET') {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ object: 'list', data: [{ id: 'scripted', object: 'model' }] }));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const called = callOf(offered(body));
      if (called) {
        const made = { name: called.name, arguments: JSON.stringify(called.arguments) };
        const delta = { tool_calls: [{ index: 0, id: `call_${(count += 1)}`, type: 'function', function: made }] };
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
        const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
        response.end(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
        return;
      }
      const waiting = pieces(textOf(question(body)));
      const send = () => {
        const piece = waiting.shift();
        if (piece === undefined) {
          response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`);
          const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
          response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
          return;
        }
        const choice = { index: 0, delta: { content: piece }, finish_reason: null };
        response.write(`data: ${JSON.stringify({ choices: [choice] })}\n\n`);
        if (delay > 0) setTimeout(send, delay);
        else setImmediate(send);
      };
      send();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const address = `http://127.0.0.1:${port}/v1`;
  return {
    args: ['--model', `scripted=scripted@${address}`, '--remote', address, '--remote-chat', 'completions'],
    reply: (text, wait = 0) => {
      textOf = text;
      delay = wait;
    },
    call: (of) => {
      callOf = of;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
