// Graphs of flows, forms, audio, calls of tools, and the conditions of a search.
import { describe, expect, it } from 'vitest';
import { parametersOf, type PromptInfo } from '../src/api/around';
import type { Conversation } from '../src/api/types';
import { layOut, readGraphs } from '../src/flow/graph';
import { fieldOf, fieldsOf, filled, promptFields } from '../src/form/fields';
import { mono, wave } from '../src/form/wave';
import { de } from '../src/language/around/de';
import { en } from '../src/language/around/en';
import { messageOf, type Attachment } from '../src/state/attachments';
import { waitingCalls } from '../src/state/calls';
import { answerOf, resultsOf, waitingApprovals } from '../src/state/decisions';
import { nameOf, versionsOf } from '../src/state/library';
import { conditionsOf, metadataOf, NOTHING, secondOf } from '../src/state/search';
import { readSettings } from '../src/state/settings';
import { Tree } from '../src/tree/tree';
import { node } from './nodes';

const DIAGRAM = `stateDiagram-v2
    state "drink (wait)" as s0
    state "sorry (say)" as s1
    state "check (flow taste)" as s2
    state "done (say)" as s3
    [*] --> s0
    s0 --> s2 : keyword tea
    s0 --> s1
    s1 --> s0
    s2 --> s3
    s0 --> s3 : late
    s3 --> [*]
    state "taste" as f0 {
        state "sip (ask)" as f0s0
        [*] --> f0s0
        f0s0 --> [*]
    }
`;

describe('graphs of flows', () => {
  it('are read from the diagram, with the flows within', () => {
    const [outer, inner] = readGraphs(DIAGRAM);
    expect(outer!.states.map((state) => `${state.name}/${state.kind}`)).toEqual([
      'drink/wait',
      'sorry/say',
      'check/flow',
      'done/say',
    ]);
    expect(outer!.start).toBe('s0');
    expect(outer!.ends).toEqual(new Set(['s3']));
    expect(outer!.transitions).toHaveLength(5);
    expect(outer!.transitions[0]).toEqual({ from: 's0', to: 's2', label: 'keyword tea' });
    expect(inner!.name).toBe('taste');
    expect(inner!.states).toEqual([{ id: 'f0s0', name: 'sip', kind: 'ask' }]);
  });

  it('have each state at a place of its own, after those that lead to it', () => {
    const { states, transitions, left, width, height } = layOut(readGraphs(DIAGRAM)[0]!);
    const at = new Map(states.map((state) => [state.name, state]));
    expect(new Set(states.map(({ x, y }) => `${x},${y}`)).size).toBe(4);
    expect(at.get('check')!.y).toBe(at.get('sorry')!.y);
    expect(at.get('done')!.y).toBeGreaterThan(at.get('check')!.y);
    expect(at.get('drink')!.y).toBeLessThan(at.get('check')!.y);
    expect(transitions).toHaveLength(5);
    for (const { x, y } of [...states, ...transitions]) {
      expect(x).toBeGreaterThanOrEqual(left);
      expect(x).toBeLessThan(left + width);
      expect(y).toBeLessThan(height);
    }
  });

  it('are laid out where they are circles, or nothing', () => {
    const circle = readGraphs('state "a (say)" as s0\nstate "b (say)" as s1\ns0 --> s1\ns1 --> s0\ns0 --> s0');
    expect(layOut(circle[0]!).states).toHaveLength(2);
    expect(layOut(readGraphs('')[0]!).states).toEqual([]);
  });
});

describe('forms', () => {
  const schema = {
    properties: {
      name: { type: 'string', description: 'Who' },
      age: { type: 'integer' },
      size: { enum: ['S', 2] },
      is: { type: 'boolean' },
      more: { type: 'array' },
    },
    required: ['name', 'age'],
  };

  it('have a field for each property', () => {
    const fields = fieldsOf(schema)!;
    expect(fields.map((field) => field.kind)).toEqual(['text', 'integer', 'choice', 'boolean', 'json']);
    expect(fields.map((field) => field.isRequired)).toEqual([true, true, false, false, false]);
    expect(fieldsOf({ type: 'string' })).toBeNull();
    expect(fieldsOf(null)).toBeNull();
  });

  it('give values of their types, and say what is missing or cannot be read', () => {
    const fields = fieldsOf(schema)!;
    expect(filled(fields, { name: 'Ann', age: '7', size: '2', is: 'true', more: '[1]' })).toEqual({
      values: { name: 'Ann', age: 7, size: 2, is: true, more: [1] },
      problems: {},
    });
    expect(filled(fields, { age: '1.5', more: '{' })).toEqual({
      values: {},
      problems: { name: 'missing', age: 'invalid', more: 'invalid' },
    });
    expect(filled([fieldOf('x', {}, false, 'usual')], {}).values).toEqual({ x: 'usual' });
    expect(filled([fieldOf('x', {}, false, 'usual')], { x: '' }).values).toEqual({});
  });

  it('of prompts have their variables, with defaults', () => {
    const fields = promptFields({
      variables: ['city', 'age'],
      required: ['age'],
      defaults: { city: 'Lisbon' },
      input: { properties: { age: { type: 'number' }, extra: { type: 'string' } } },
    });
    expect(fields.map(({ name, kind, isRequired, initial }) => [name, kind, isRequired, initial])).toEqual([
      ['city', 'text', false, 'Lisbon'],
      ['age', 'number', true, ''],
      ['extra', 'text', false, ''],
    ]);
  });
});

describe('audio', () => {
  it('are WAV files with one channel', () => {
    const samples = mono([new Float32Array([1, 0, -1, 2]), new Float32Array([0, 0, -1, 2])]);
    expect([...samples]).toEqual([0.5, 0, -1, 2]);
    const bytes = wave(samples, 16_000);
    const view = new DataView(bytes.buffer);
    expect(new TextDecoder().decode(bytes.subarray(0, 4))).toBe('RIFF');
    expect(view.getUint32(4, true)).toBe(bytes.length - 8);
    expect(view.getUint32(24, true)).toBe(16_000);
    expect([0, 1, 2, 3].map((at) => view.getInt16(44 + 2 * at, true))).toEqual([16384, 0, -32768, 32767]);
  });

  it('and images are parts of a message, before its text', () => {
    const entry = (kind: 'image' | 'audio', type: string): Attachment => {
      return { key: 1, name: '', kind, type, base64: 'QQ==', url: '' };
    };
    expect(messageOf('Look', [entry('image', 'image/png'), entry('audio', 'audio/mpeg')])).toEqual({
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,QQ==' } },
        { type: 'input_audio', input_audio: { data: 'QQ==', format: 'mp3' } },
        { type: 'text', text: 'Look' },
      ],
    });
    expect(messageOf(' ', [entry('audio', 'audio/x-wav')])['content']).toEqual([
      { type: 'input_audio', input_audio: { data: 'QQ==', format: 'wav' } },
    ]);
  });
});

describe('calls of tools', () => {
  const call = { id: 'a', name: 'weather', arguments: { city: 'Oslo' } };
  const asked = { ...node('1', null), role: 'assistant', parts: [{ tool_call: call }] };

  it('wait until a result follows', () => {
    const tree = Tree.of([asked], '1');
    expect(waitingCalls(tree, asked)).toEqual([call]);
    tree.put({ ...node('2', '1'), role: 'user' });
    expect(waitingCalls(tree, asked)).toEqual([call]);
    tree.put({ ...node('3', '1'), role: 'tool' });
    expect(waitingCalls(tree, asked)).toEqual([]);
  });

  it('wait after the results of others', () => {
    const other = { id: 'b', name: 'clock', arguments: {} };
    const waiting = { call_id: 'a', server_label: 'sky', name: 'weather', arguments: call.arguments };
    const reply = { ...asked, parts: [{ tool_call: other }, { tool_call: call }], waiting: [waiting] };
    const result = { ...node('2', '1'), role: 'tool', parts: [{ tool_result: { id: 'b', content: '12:00' } }] };
    const tree = Tree.of([reply, result], '2');
    expect(waitingCalls(tree, result)).toEqual([call]);
    expect(waitingApprovals(tree, result, null)).toEqual([waiting]);
    expect(waitingApprovals(tree, reply, null)).toEqual([waiting]);
    const decided = { metadata: { openai_approvals: { 1: '2' } } } as unknown as Conversation;
    expect(waitingApprovals(tree, reply, decided)).toEqual([]);
    tree.put({ ...node('3', '2'), role: 'tool' });
    expect(waitingCalls(tree, result)).toEqual([]);
  });

  it('of the host are decided, and others have results', () => {
    const other = { id: 'b', name: 'clock', arguments: {} };
    const waiting = { call_id: 'a', server_label: 'sky', name: 'weather', arguments: call.arguments };
    const decided = [
      { isAllowed: true, text: '12:00' },
      { isAllowed: true, text: '' },
    ];
    expect(answerOf([other, call], [waiting], decided)).toEqual({
      approvals: [{ call_id: 'a', approve: true }],
      messages: [{ role: 'tool', tool_call_id: 'b', name: 'clock', content: '12:00' }],
    });
    expect(answerOf([call], [waiting], [{ isAllowed: false, text: 'no' }])).toEqual({
      approvals: [{ call_id: 'a', approve: false, reason: 'no' }],
    });
    expect(answerOf([call], [waiting], [])).toEqual({ approvals: [{ call_id: 'a', approve: false }] });
    expect(answerOf([call], [], [{ isAllowed: true, text: 'sun' }])).toEqual({
      messages: [{ role: 'tool', tool_call_id: 'a', name: 'weather', content: 'sun' }],
    });
  });

  it('are refused unless they are allowed', () => {
    const result = { role: 'tool', tool_call_id: 'a', name: 'weather' };
    expect(resultsOf([call], [{ isAllowed: true, text: 'sun' }])).toEqual([{ ...result, content: 'sun' }]);
    const refused = { ...result, content: 'this call was refused: no' };
    expect(resultsOf([call], [{ isAllowed: false, text: 'no' }])).toEqual([refused]);
    expect(resultsOf([call], [])[0]!['content']).toContain('refused');
  });
});

describe('a search', () => {
  it('has only the conditions that are given', () => {
    expect(parametersOf(conditionsOf(NOTHING)).toString()).toBe('');
    const asked = {
      ...NOTHING,
      text: ' tea ',
      from: '2026-05-01',
      until: '2026-05-02',
      metadata: 'topic=a b, x=1, =2, y',
    };
    const query = parametersOf(conditionsOf({ ...asked, by: 'created', sort: 'name' }));
    expect(query.get('text')).toBe('tea');
    expect(query.get('metadata[topic]')).toBe('a b');
    expect(query.get('metadata[x]')).toBe('1');
    expect([...query.keys()]).not.toContain('sort');
    expect(Number(query.get('created_before')) - Number(query.get('created_after'))).toBe(2 * 86_400);
    expect(metadataOf('a=b=c')).toEqual([['a', 'b=c']]);
    expect(secondOf('')).toBeNull();
  });
});

describe('prompts', () => {
  it('have versions, the newest first', () => {
    const of = (id: string, version: string | null) => ({ id, version }) as PromptInfo;
    const all = [of('user/a@1.9.0', '1.9.0'), of('user/b', null), of('user/a@1.10.0', '1.10.0')];
    expect(versionsOf(all, 'user/a').map(nameOf)).toEqual(['user/a@1.10.0', 'user/a@1.9.0']);
    expect(versionsOf(all, 'user/b').map(nameOf)).toEqual(['user/b']);
  });
});

describe('words and settings', () => {
  it('are the same in all languages', () => {
    expect(Object.keys(de).sort()).toEqual(Object.keys(en).sort());
    for (const [key, word] of Object.entries(de)) expect(typeof word).toBe(typeof en[key as keyof typeof en]);
    expect(Object.keys(de.ability)).toEqual(Object.keys(en.ability));
    expect(Object.keys(de.samplingNames)).toEqual(Object.keys(en.samplingNames));
  });

  it('keep what is valid of the sampling', () => {
    const text = '{"sampling":{"top_k":5,"stop":["a"],"min_p":"x"},"effort":"low","systemPrompt":"Be brief."}';
    const read = readSettings(text);
    expect(read.sampling).toEqual({ top_k: 5, stop: ['a'] });
    expect(read).toMatchObject({ effort: 'low', systemPrompt: 'Be brief.' });
    expect(readSettings('{"sampling":{"stop":[1]},"effort":"much"}')).toMatchObject({ sampling: {}, effort: null });
  });
});
