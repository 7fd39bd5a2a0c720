// Images and audio of stored conversations in the line: their bytes come from their node, with the key of the page.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AddedNodes, Conversation, TreeObject } from '../src/api/types';
import { closeBrowser, missing, openPage, serve, type Served, type Watched } from './harness';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A tenth of a second of silence. */
function silence(): Buffer {
  const data = Buffer.alloc(1600);
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + data.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(16_000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(data.length, 40);
  return Buffer.concat([header, data]);
}

/** A picture that no browser can draw: it only begins as one. */
const BROKEN = Buffer.from('GIF89a and no more').toString('base64');

const image = (type: string, data: string) => ({
  type: 'image_url',
  image_url: { url: `data:image/${type};base64,${data}` },
});

describe.skipIf(missing() !== null)('media of stored conversations', () => {
  let served: Served;
  let watched: Watched;
  let id: string;
  let node: string;

  beforeAll(async () => {
    served = await serve();
    ({ id } = await served.api<Conversation>('POST', 'v1/alloquy/conversations', { metadata: { title: 'Pictures' } }));
    const audio = { type: 'input_audio', input_audio: { data: silence().toString('base64'), format: 'wav' } };
    const content = [image('png', PIXEL), audio, { type: 'text', text: 'What is it?' }];
    const messages = [
      { role: 'user', content },
      { role: 'assistant', content: 'A point.' },
      { role: 'user', content: [image('gif', BROKEN), { type: 'text', text: 'And this?' }] },
      { role: 'assistant', content: 'Nothing.' },
    ];
    const added = await served.api<AddedNodes>('POST', `v1/alloquy/conversations/${id}/nodes`, { messages });
    node = added.nodes[0]?.id ?? '';
  });
  afterAll(async () => {
    await served.close();
    await closeBrowser();
  });
  beforeEach(async () => {
    watched = await openPage(served.url);
  });
  afterEach(async () => {
    await watched.context.close();
  });

  it('an old image is drawn and old audio has a length', async () => {
    const { page, problems } = watched;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.evaluate((hash) => (location.hash = hash), `#/c/${id}`);
    const first = page.locator('.message.user').first();
    await expect.poll(() => first.locator('img').evaluate((drawn: HTMLImageElement) => drawn.naturalWidth)).toBe(1);
    expect(await first.locator('img').getAttribute('alt')).toContain('image/png');
    await expect
      .poll(() => first.locator('audio').evaluate((sound: HTMLAudioElement) => sound.duration))
      .toBeCloseTo(0.1, 2);
    const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
    const digest = String(nodes.find((one) => one.id === node)?.parts[0]?.image?.['digest']);
    expect(asked).toContain(`/v1/alloquy/conversations/${id}/nodes/${node}/media/${digest}`);
    // The whole document is not asked for.
    expect(asked.filter((path) => path.endsWith('/export'))).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('what the server does not have stays a name', async () => {
    const { page } = watched;
    await page.route('**/media/*', (route) => route.fulfill({ status: 404, json: { error: { message: 'gone' } } }));
    await page.evaluate((hash) => (location.hash = hash), `#/c/${id}`);
    await page.locator('.message.user .media[aria-busy="false"]').nth(2).waitFor();
    expect(await page.locator('.message.user .media').first().innerText()).toContain('image/png');
    expect(await page.locator('.message.user img').count()).toBe(0);
  });

  it('bytes that the server names as no media are not shown', async () => {
    const { page } = watched;
    const script = '<svg xmlns="http://www.w3.org/2000/svg"><script>window.hacked = 1</script></svg>';
    for (const contentType of ['image/svg+xml', 'text/html', 'application/octet-stream']) {
      await page.route('**/media/*', (route) => route.fulfill({ contentType, body: script }));
      await page.evaluate((hash) => (location.hash = hash), `#/c/${id}`);
      await page.locator('.message.user .media[aria-busy="false"]').nth(2).waitFor();
      expect(await page.locator('.message.user img').count()).toBe(0);
      expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
      await page.reload();
    }
  });

  it('a file that a person opens by itself runs nothing', async () => {
    const { nodes } = await served.api<TreeObject>('GET', `v1/alloquy/conversations/${id}/tree`);
    const digest = String(nodes[0]?.parts[0]?.image?.['digest']);
    const answer = await watched.page.request.get(
      `${served.url}v1/alloquy/conversations/${id}/nodes/${nodes[0]?.id ?? ''}/media/${digest}`,
    );
    const headers = answer.headers();
    expect(headers['content-type']).toBe('image/png');
    expect(headers['content-security-policy']).toContain('sandbox');
    expect(headers['x-content-type-options']).toBe('nosniff');
  });
});
