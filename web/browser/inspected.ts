// Answers of the server for what a small model does not have: a long prompt of every origin, and a reply that reports much.
import type { PromptObject } from '../src/api/inspecting';
import { ORIGINS } from '../src/api/inspecting';
import type { Node } from '../src/api/types';

const WORDS = ['The', ' water', ' for', ' green', ' tea', ' is', ' cooler', '.', '\n', ' 茶', '  ', '\t'];

/** A prompt of `count` tokens. */
export function longPrompt(node: string, count: number): PromptObject {
  const each = count < 100 ? 7 : 23;
  const tokens = Array.from({ length: count }, (_, at) => {
    const origin = ORIGINS[Math.floor(at / each) % ORIGINS.length] ?? null;
    if (at % 1000 === 999) return { id: at, text: '\ufffd', bytes: [0xe2, 0x82], origin };
    return { id: 100_000 + at, text: WORDS[(at * 7) % WORDS.length] ?? '', origin };
  });
  const spans = tokens.map(({ text, origin }) => ({ text, origin: origin ?? 'template' }));
  return {
    node,
    model: 'pocket',
    agrees: true,
    text: spans.map((span) => span.text).join(''),
    spans,
    tokens,
    positions: count,
    context: 131_072,
    template: 'tool_use',
    reuse: {
      prompt: count,
      cached: 60,
      computed: count - 60,
      first_difference: 60,
      miss: 'rewritten',
      why: 'the prompt has an earlier reply in another form, or not at all',
    },
    reply_tokens: null,
    warnings: [{ left_out: { what: 'tools' } }],
  };
}

/** The nodes of a tree, of which the first reply calls a tool and the second reports sources, guards and warnings. */
export function withReports(nodes: readonly Node[]): Node[] {
  const usage = { prompt: 1200, cached: 1000, generated: 180, thinking: 40 };
  const report = { model: 'pocket', finish: 'stop', usage, seed: 7 };
  const replies = nodes.filter((node) => node.role === 'assistant').map((node) => node.id);
  return nodes.map((node) => {
    if (node.id === replies[0]) {
      const call = {
        id: 'call_1',
        name: 'search_tea',
        arguments: { query: 'green', limits: { count: 3, kinds: ['a'] } },
      };
      return { ...node, reply: report, parts: [{ thinking: 'I look it up.' }, { tool_call: call }] };
    }
    if (node.role === 'tool') {
      const content = { found: [{ name: 'Sencha', celsius: 75 }], more: false, none: null };
      return { ...node, parts: [{ tool_result: { id: 'call_1', name: 'search_tea', content } }] };
    }
    if (node.id !== replies[1]) return node;
    const passages = [
      { id: 'tea.md#0', source: 'tea.md', heading: 'Green tea', digest: 'sha256:0' },
      { id: 'tea.md#1', source: 'tea.md', digest: 'sha256:1' },
    ];
    const reply = {
      ...report,
      cache: { prompt: 1200, cached: 1000, computed: 200, first_difference: 1000, miss: 'changed' },
      warnings: [{ max_tokens_capped: { asked: 900, room: 180 } }, 'grammar_cut'],
      facts: {
        documents: { retriever: 'docs', query: 'How hot?', passages },
        'alloquy.redaction': { email: 2 },
        'alloquy.validation': { attempts: 3, spent: usage },
        channel: 'letter',
      },
    };
    return { ...node, reply };
  });
}
