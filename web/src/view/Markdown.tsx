// Markdown as elements. Each token becomes an element here, so no text of a model is ever HTML.
import { Component, type ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { words } from '../language';
import { allowedAddress } from '../text/address';
import type { Coloured } from '../text/code';
import { soon } from '../state/slices';
import { decodeEntities } from '../text/entities';
import { GrowingBlocks, readBlocks, ROWS, WEIGHT, type Read, type Token, type Tokens } from '../text/markdown';
import { clean, cut, plainName } from '../text/plain';
import { IconButton } from './Button';
import { PlainText, shown } from './Shown';

interface MarkdownProps {
  text: string;
}

/** A whole text. Of a long one, or one of many parts, the beginning is drawn, and a button shows more of it. */
export default function Markdown({ text }: MarkdownProps) {
  const [weight, setWeight] = useState(WEIGHT);
  const kept = useRef<{ text: string; weight: number; read: Read | null; cleaned: string } | null>(null);
  if (kept.current?.text !== text || kept.current.weight !== weight) {
    const cleaned = clean(text);
    kept.current = { text, weight, cleaned, read: readBlocks(cleaned, weight) };
  }
  const { read, cleaned } = kept.current;
  if (read === null) return <PlainText text={cleaned} />;
  return (
    <>
      <div class="markdown">{draw(read.tokens)}</div>
      {read.length < cleaned.length && (
        <button type="button" class="text-button" onClick={() => setWeight(weight + WEIGHT)}>
          {words.value.showMore(cleaned.length - read.length)}
        </button>
      )}
    </>
  );
}

/** A text that grows: only its last block is read again. */
export function GrowingMarkdown({ text }: MarkdownProps) {
  const growing = useRef<GrowingBlocks | null>(null);
  growing.current ??= new GrowingBlocks();
  const read = growing.current;
  read.read(clean(text));
  if (read.isPlain) return <PlainText text={clean(text)} />;
  return (
    <div class="markdown">
      {draw(read.ended)}
      {draw(read.last, read.ended.length, true)}
    </div>
  );
}

function draw(tokens: readonly Token[], from = 0, isGrowing = false): ComponentChildren {
  return tokens.map((token, index) => <Block key={from + index} token={token} isGrowing={isGrowing} />);
}

/** A block, which is drawn again only if its text has changed. */
class Block extends Component<{ token: Token; isGrowing: boolean }> {
  override shouldComponentUpdate(next: { token: Token; isGrowing: boolean }) {
    const isSame = next.token === this.props.token || next.token.raw === this.props.token.raw;
    return !isSame || next.isGrowing !== this.props.isGrowing;
  }

  override render() {
    return block(this.props.token, this.props.isGrowing);
  }
}

function block(token: Token, isGrowing: boolean): ComponentChildren {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'code': {
      const code = token as Tokens.Code;
      return <Code text={code.text} language={code.lang ?? ''} isGrowing={isGrowing} />;
    }
    case 'heading': {
      const { depth, tokens } = token as Tokens.Heading;
      // The page has headings of its own above.
      const Tag = `h${Math.min(6, depth + 2)}` as 'h3';
      return (
        <Tag dir="auto" class={`h${depth}`}>
          {inline(tokens)}
        </Tag>
      );
    }
    case 'plain':
      return <PlainText text={token.raw} />;
    case 'hr':
      return <hr />;
    case 'blockquote':
      return <blockquote>{draw((token as Tokens.Blockquote).tokens)}</blockquote>;
    case 'list':
      return <List list={token as Tokens.List} />;
    case 'table':
      return <Table table={token as Tokens.Table} />;
    case 'math':
      return <Formula formula={(token as unknown as { text: string }).text} isBlock />;
    case 'paragraph':
      return <p dir="auto">{inline((token as Tokens.Paragraph).tokens)}</p>;
    case 'text': {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens) : shown(decodeEntities(text));
    }
    default:
      // HTML, and what is not known here, is text.
      return <p dir="auto">{shown(token.raw.trimEnd())}</p>;
  }
}

function List({ list }: { list: Tokens.List }) {
  const [count, setCount] = useState(ROWS);
  const items = list.items.slice(0, count).map((item, index) => (
    <li key={index} dir="auto" class={item.task ? 'task' : undefined}>
      {item.task && (
        <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked ? '✓' : '–'} />
      )}
      {draw(item.tokens.filter((token) => token.type !== 'checkbox'))}
    </li>
  ));
  return (
    <>
      {list.ordered ? <ol start={list.start === '' ? 1 : list.start}>{items}</ol> : <ul>{items}</ul>}
      <MoreRows count={count} of={list.items.length} show={setCount} />
    </>
  );
}

function MoreRows({ count, of, show }: { count: number; of: number; show: (count: number) => void }) {
  if (of <= count) return null;
  return (
    <button type="button" class="text-button" onClick={() => show(count + ROWS)}>
      {words.value.showRows(of - count)}
    </button>
  );
}

function Table({ table }: { table: Tokens.Table }) {
  const [count, setCount] = useState(ROWS);
  const cell = (of: Tokens.TableCell, index: number, isHead: boolean) => {
    const place = `align-${table.align[index] ?? 'start'}`;
    return isHead ? (
      <th key={index} class={place} scope="col" dir="auto">
        {inline(of.tokens)}
      </th>
    ) : (
      <td key={index} class={place} dir="auto">
        {inline(of.tokens)}
      </td>
    );
  };
  return (
    <div class="wide" tabIndex={0} role="group">
      <table>
        <thead>
          <tr>{table.header.map((entry, index) => cell(entry, index, true))}</tr>
        </thead>
        <tbody>
          {table.rows.slice(0, count).map((row, index) => (
            <tr key={index}>{row.map((entry, at) => cell(entry, at, false))}</tr>
          ))}
        </tbody>
      </table>
      <MoreRows count={count} of={table.rows.length} show={setCount} />
    </div>
  );
}

/** The tokens of a line. They have no components of their own, which a long reply would have thousands of. */
function inline(tokens: readonly Token[]): ComponentChildren {
  return tokens.map(inlineOf);
}

function inlineOf(token: Token): ComponentChildren {
  switch (token.type) {
    case 'strong':
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case 'em':
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case 'del':
      return <del>{inline((token as Tokens.Del).tokens)}</del>;
    case 'codespan':
      return <code>{shown((token as Tokens.Codespan).text)}</code>;
    case 'br':
      return <br />;
    case 'math':
      return <Formula formula={(token as unknown as { text: string }).text} isBlock={false} />;
    case 'link': {
      const { href, tokens } = token as Tokens.Link;
      return <Link address={href}>{inline(tokens)}</Link>;
    }
    case 'image': {
      const { href, text } = token as Tokens.Image;
      return <Link address={href}>{words.value.imageLink(text || href)}</Link>;
    }
    case 'escape':
      return shown((token as Tokens.Escape).text);
    case 'text': {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens) : shown(decodeEntities(text));
    }
    default:
      return shown(token.raw);
  }
}

/** A link, if its address may be followed. It is followed only by a click. */
function Link({ address, children }: { address: string; children: ComponentChildren }) {
  const allowed = allowedAddress(address);
  if (allowed === null) {
    return (
      <span class="no-link" title={cut(plainName(address), 300)}>
        {children}
      </span>
    );
  }
  return (
    <a href={allowed} target="_blank" rel="noopener noreferrer" title={words.value.linkTo(cut(allowed, 300))}>
      {children}
    </a>
  );
}

function Code({ text, language, isGrowing }: { text: string; language: string; isGrowing: boolean }) {
  const name = /^[\w+#.-]{1,30}/.exec(language)?.[0] ?? '';
  const [coloured, setColoured] = useState<{ text: string; pieces: Coloured[] } | null>(null);
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (isGrowing || name === '') return undefined;
    let isGone = false;
    void import('../text/code').then(({ colours }) =>
      soon(() => {
        const found = isGone ? null : colours(text, name.toLowerCase());
        if (found) setColoured({ text, pieces: found });
      }),
    );
    return () => {
      isGone = true;
    };
  }, [text, name, isGrowing]);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  const label = isCopied ? words.value.copied : words.value.copyCode;
  return (
    <figure class="code-block">
      <figcaption>
        <span>{name}</span>
        <IconButton icon={isCopied ? 'check' : 'copy'} label={label} onClick={copy} />
      </figcaption>
      <pre tabIndex={0} dir="ltr">
        <code>
          {coloured?.text === text
            ? coloured.pieces.map((piece, index) => (
                <span key={index} class={piece.kind || undefined}>
                  {shown(piece.text)}
                </span>
              ))
            : shown(text)}
        </code>
      </pre>
    </figure>
  );
}

function Formula({ formula, isBlock }: { formula: string; isBlock: boolean }) {
  const element = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let isGone = false;
    void import('../text/math').then(({ drawMath }) =>
      soon(() => {
        const present = element.current;
        if (!isGone && present) present.dataset['valid'] = String(drawMath(present, formula, isBlock));
      }),
    );
    return () => {
      isGone = true;
    };
  }, [formula, isBlock]);
  return <span ref={element} class={isBlock ? 'math block' : 'math'} dir="ltr" aria-label={formula} role="math" />;
}
