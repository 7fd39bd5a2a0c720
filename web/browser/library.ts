// A library of prompts, flows and prices for tests, as files of the program.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';

const NEEDS_NAME = 'validation: {level: error, required_params: [name]}\n';

const FILES: Record<string, string> = {
  'prompts/system/guide.yaml': 'template: You are a guide to {{city}}.\ndefaults:\n  city: Lisbon\n',
  'prompts/user/ask.prompt':
    '---\nversion: 1.0.0\n---\nWhere is {{place}}, in {{words}} words?((  I come from {{home}}.))\n',
  'prompts/user/letter/1.9.0.yaml': `template: Dear {{name}}, old.\n${NEEDS_NAME}`,
  'prompts/user/letter/1.10.0.yaml': `template: Dear {{name}}, new.\n${NEEDS_NAME}`,
  'flows/order.yaml': `name: order
variables:
  drink: string
  cups: integer
  approved: boolean
states:
  greeting:
    say: Welcome to the tea house!
    to: drink
  drink:
    wait:
      say: Tea or coffee?
      set: drink
    to:
      - if: {keyword: [tea, coffee]}
        to: cups
      - to: sorry
  sorry:
    say: We have only tea and coffee.
    to: drink
  cups:
    wait:
      say: How many cups?
      expects: {type: integer, minimum: 1}
      set: cups
    to:
      - if: {at_least: {variable: cups, value: 10}}
        to: approval
      - to: served
  approval:
    approve:
      say: 'Serve {{cups}} cups of {{drink}}?'
      set: approved
    to:
      - if: {equals: true}
        to: served
      - to: refused
  served: {say: 'Here are {{cups}} cups of {{drink}}.'}
  refused: {say: 'That was too much.'}
`,
};

/** Whether the program serves libraries. */
export function servesLibraries(): boolean {
  const program = process.env['ALLOQUY_PROGRAM'];
  return program !== undefined && execFileSync(program, ['serve', '--help']).toString().includes('--flows');
}

export interface Library {
  /** The arguments of `alloquy serve`. */
  args: readonly string[];
  close: () => Promise<void>;
}

export async function library(): Promise<Library> {
  const folder = await mkdtemp(path.join(tmpdir(), 'alloquy-library-'));
  for (const [name, text] of Object.entries(FILES)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const args = ['--prompts', path.join(folder, 'prompts'), '--flows', path.join(folder, 'flows')];
  return { args, close: () => rm(folder, { recursive: true, force: true }) };
}
