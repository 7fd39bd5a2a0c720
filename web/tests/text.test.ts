// Texts of others: what is removed, shown, cut and read as Markdown.
import { describe, expect, it } from 'vitest';
import { allowedAddress } from '../src/text/address';
import { colours, piecesOf } from '../src/text/code';
import { decodeEntities } from '../src/text/entities';
import { blocks, GrowingBlocks } from '../src/text/markdown';
import { clean, cut, pieces, summary } from '../src/text/plain';
import { highlighted } from '../src/view/highlight';
import { Sentences } from '../src/state/sentences';

describe('a text of others', () => {
  it('has no sequences of terminals and no broken characters', () => {
    expect(clean('\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007')).toBe('red link');
    expect(clean('a\ud800b\udc00c')).toBe('a\ufffdb\ufffdc');
    expect(clean('😀')).toBe('😀');
    expect(clean('a\u0000\r\nb\rc\td')).toBe('a\ufffd\nb\nc\td');
  });

  it('shows what would change its direction', () => {
    expect(pieces('a\u202eb')).toEqual(['a', { code: 'U+202E', name: 'RLO' }, 'b']);
    expect(pieces('שלום')).toEqual(['שלום']);
  });

  it('is cut between characters', () => {
    expect(cut('ab😀', 3)).toBe('ab');
    expect(cut('ab😀', 4)).toBe('ab😀');
    expect(summary('# Title\n\n**bold** words\u202e', 10)).toBe('Title bold…');
  });

  it('has links only to the web and to mail', () => {
    expect(allowedAddress('https://example.org/a b')).toBe('https://example.org/a%20b');
    expect(allowedAddress('mailto:a@example.org')).toBe('mailto:a@example.org');
    for (const address of [
      'javascript:alert(1)',
      ' JaVaScRiPt:x',
      'data:text/html,x',
      'vbscript:x',
      '/path',
      '#x',
      '//x',
      'blob:x',
    ]) {
      expect(allowedAddress(address)).toBeNull();
    }
  });

  it('has named characters, and not more than those', () => {
    expect(decodeEntities('a &amp; b &#x41;&#66; &unknown; &constructor; &#xd800;')).toBe(
      'a & b AB &unknown; &constructor; \ufffd',
    );
  });
});

describe('Markdown', () => {
  it('has HTML as text', () => {
    expect(blocks('<img src=x onerror=alert(1)>')?.map((token) => token.type)).toEqual(['html']);
  });

  it('has mathematics, and prices are none', () => {
    const types = (text: string) => {
      const paragraph = blocks(text)?.[0] as { tokens?: { type: string }[] } | undefined;
      return paragraph?.tokens?.map((token) => token.type);
    };
    expect(types('so $a^2 + b^2$ and')).toEqual(['text', 'math', 'text']);
    expect(types('from $5 to $6')).toEqual(['text']);
    expect(blocks('$$\nx = 1\n$$')?.[0]?.type).toBe('math');
  });

  it('gives up on texts that are made to be slow', () => {
    for (const text of ['['.repeat(5000), '*'.repeat(3000), '> '.repeat(100) + 'x', 'a'.repeat(20_000)]) {
      expect(blocks(text)).toBeNull();
    }
  });

  it('keeps the blocks of a growing text that have ended', () => {
    const text = '# A\n\nOne *two*.\n\n- a\n- b\n\nThree.\n\n```js\nlet a;\n\nlet b;\n```\nEnd.';
    const growing = new GrowingBlocks();
    let first;
    for (let end = 1; end <= text.length; end += 1) {
      growing.read(text.slice(0, end));
      first ??= growing.ended[0];
      if (first) expect(growing.ended[0]).toBe(first);
    }
    const raw = [...growing.ended, ...growing.last].map((token) => token.raw).join('');
    expect(raw).toBe(text);
    const types = [...growing.ended, ...growing.last].map((token) => token.type).filter((type) => type !== 'space');
    expect(types).toEqual(
      blocks(text)
        ?.map((token) => token.type)
        .filter((type) => type !== 'space'),
    );
  });
});

describe('code', () => {
  it('is the same text in colours', () => {
    const code = 'const a = "<b>&amp;</b>"; // x';
    const found = colours(code, 'javascript');
    expect(found?.map((piece) => piece.text).join('')).toBe(code);
    expect(found?.some((piece) => piece.kind.includes('keyword'))).toBe(true);
    expect(colours(code, 'no-such-language')).toBeNull();
  });

  it('has nothing but spans taken out of the output', () => {
    expect(piecesOf('<span class="a">x</span><img src=x>')).toEqual([
      { text: 'x', kind: 'a' },
      { text: '<img src=x>', kind: '' },
    ]);
  });
});

describe('what is said and found', () => {
  it('is said by sentence', () => {
    const sentences = new Sentences();
    expect(sentences.next('One. Tw', false)).toBe('One.');
    expect(sentences.next('One. Two!', false)).toBe('');
    expect(sentences.next('One. Two! Three', false)).toBe('Two!');
    expect(sentences.next('One. Two! Three', true)).toBe('Three');
  });

  it('is highlighted by bytes', () => {
    expect(highlighted('grüner tee', [[8, 11]])).toEqual([
      { text: 'grüner ', isHit: false },
      { text: 'tee', isHit: true },
    ]);
  });
});
