// A conversation for tests and images: with code, a table, mathematics, branches and notes.
import type { Conversation, TreeObject } from '../src/api/types';
import type { Served } from './harness';

const ANSWER = `Green tea wants **cooler water** than black tea. In short:

| Tea | Water | Time |
| --- | ---: | ---: |
| Green | 75 °C | 2 min |
| Black | 95 °C | 4 min |

The rate of extraction follows $k = A e^{-E_a / RT}$, so a few degrees matter:

$$\\int_0^t k(T)\\,dt = \\ln \\frac{c_\\infty}{c_\\infty - c(t)}$$

\`\`\`rust
/// Returns how long a tea is steeped, in seconds.
fn steeping(tea: Tea) -> u32 {
    match tea {
        Tea::Green => 120, // cooler water
        Tea::Black => 240,
    }
}
\`\`\`

1. Warm the pot.
2. Use *fresh* water, see [the guide](https://example.org/tea).
   - [x] filtered
   - [ ] boiled twice

> The best tea is the one that you have.`;

/** Creates it, and returns its id. */
export async function sample(served: Served): Promise<string> {
  const { id } = await served.api<Conversation>('POST', 'v1/alloquy/conversations', {
    messages: [{ role: 'system', content: 'Be brief, and answer like somebody who knows tea.' }],
    metadata: { title: 'Tea for two' },
  });
  const add = (messages: { role: string; content: string }[], node?: string) =>
    served.api('POST', `v1/alloquy/conversations/${id}/nodes`, node === undefined ? { messages } : { messages, node });
  await add([
    { role: 'user', content: 'How hot should the water be?' },
    { role: 'assistant', content: 'It depends on the tea.' },
  ]);
  await add([{ role: 'assistant', content: ANSWER }], '0');
  await add([
    { role: 'user', content: 'And with milk?' },
    { role: 'assistant', content: 'Only black tea, and the milk last.' },
  ]);
  await add([{ role: 'assistant', content: 'Milk goes in first, say some.' }], '0.1.0');
  await add(
    [
      { role: 'user', content: 'What about the second infusion?' },
      { role: 'assistant', content: 'Shorter, and a little hotter.' },
    ],
    '0.1',
  );
  const tree = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
  const green = tree.nodes.find((node) => node.text === ANSWER);
  const milk = tree.nodes.find((node) => node.text === 'Only black tea, and the milk last.');
  await served.api('PUT', `v1/alloquy/conversations/${id}/labels/${milk?.id}`, { label: 'milk' });
  await served.api('PUT', `v1/alloquy/conversations/${id}/bookmarks/guide`, { node: green?.id });
  await served.api('PUT', `v1/alloquy/conversations/${id}/head`, { head: milk?.id });
  return id;
}
