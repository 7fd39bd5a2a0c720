// A message of the line that is shown.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Node, Part } from '../api/types';
import { fullTime, when, words } from '../language';
import { edited, open, regenerate, resend, toSibling, toggleBookmark } from '../state/session';
import { continueReply, showAnswers } from '../state/steering';
import { isCut } from '../tree/forks';
import { siblingsOf } from '../tree/siblings';
import { copyText, messageItems } from './actions';
import { IconButton } from './Button';
import { Icon } from './Icon';
import { Editor } from './Editor';
import { FoldedJson } from './FoldedJson';
import { Menu } from './Menu';
import { roleName, writer } from './roles';
import { StoredMedia } from './media/StoredMedia';
import { PlainText } from './Shown';
import { swipe } from './swipe';
import { Text } from './Text';
import { clean, plainName, summary } from '../text/plain';

export function Message({ node }: { node: Node }) {
  const element = useRef<HTMLElement>(null);
  const present = open.value;
  const isFocused = present?.focused.value === node.id;
  const isEdited = edited.value === node.id;
  useEffect(() => {
    const article = element.current;
    if (!article) return undefined;
    return swipe(article, (step) => toSibling(step, node.id));
  }, [node.id]);
  return (
    <article
      ref={element}
      class={`message ${node.role}`}
      data-focused={isFocused}
      data-node={node.id}
      tabIndex={isFocused ? 0 : -1}
      aria-label={`${writer(node)}: ${summary(node.text, 60)}`}
      onFocus={() => {
        if (present && present.focused.value !== node.id) present.focused.value = node.id;
      }}
    >
      <Head node={node} />
      {isEdited ? (
        <Editor
          text={node.text}
          title={words.value.editTitle}
          note={words.value.editNote}
          onCancel={() => {
            edited.value = null;
          }}
          onSend={(text) => resend(node.id, text)}
        />
      ) : (
        <Body node={node} />
      )}
      {!isEdited && node.role !== 'user' && <Foot node={node} />}
    </article>
  );
}

function Head({ node }: { node: Node }) {
  const present = words.value;
  const warnings = node.reply?.warnings?.length ?? 0;
  return (
    <header class="message-head">
      <span class="writer">{writer(node)}</span>
      <time dateTime={new Date(node.created_at * 1000).toISOString()} title={fullTime(node.created_at)}>
        {when(node.created_at)}
      </time>
      {node.label && <span class="chip label">{plainName(node.label)}</span>}
      {node.bookmarks.map((name) => (
        <span key={name} class="chip mark">
          {plainName(name)}
        </span>
      ))}
      {node.status !== 'complete' && <span class="chip warn">{present.interrupted}</span>}
      {warnings > 0 && (
        <span class="chip warn">{warnings === 1 ? present.warning : `${present.warnings}: ${warnings}`}</span>
      )}
      {node.role === 'user' && <Foot node={node} />}
    </header>
  );
}

/** "2 of 5", and the way to the others. */
function Versions({ node }: { node: Node }) {
  const present = open.value;
  if (!present) return null;
  void present.version.value;
  const { ids, index } = siblingsOf(present.tree, node.id);
  if (ids.length < 2) return null;
  return (
    <span class="versions" role="group" aria-label={words.value.siblings(index + 1, ids.length)}>
      <IconButton
        icon="left"
        label={words.value.previous}
        keys="["
        disabled={index === 0}
        onClick={() => toSibling(-1, node.id)}
      />
      <span aria-hidden="true">{words.value.siblings(index + 1, ids.length)}</span>
      <IconButton
        icon="right"
        label={words.value.next}
        keys="]"
        disabled={index === ids.length - 1}
        onClick={() => toSibling(1, node.id)}
      />
    </span>
  );
}

function Foot({ node }: { node: Node }) {
  const present = words.value;
  const isMarked = node.bookmarks.length > 0;
  return (
    <div class="message-foot">
      <Versions node={node} />
      {isCut(node) && (
        <button type="button" class="button small" onClick={() => continueReply(node.id)}>
          <Icon name="onward" />
          {present.continueReply}
        </button>
      )}
      <span class="message-actions">
        {node.role === 'user' && (
          <IconButton
            icon="edit"
            label={present.edit}
            onClick={() => {
              edited.value = node.id;
            }}
          />
        )}
        {node.role === 'assistant' && (
          <IconButton icon="again" label={present.regenerate} onClick={() => regenerate(node.id)} />
        )}
        {node.role === 'assistant' && (
          <IconButton icon="columns" label={present.answers} onClick={() => showAnswers(node.id)} />
        )}
        <IconButton icon="copy" label={present.copy} onClick={() => copyText(node.text)} />
        <IconButton
          icon="bookmark"
          label={isMarked ? present.removeBookmark : present.bookmark}
          pressed={isMarked}
          onClick={() => void toggleBookmark(node.id)}
        />
        <Menu label={present.actions} items={() => messageItems(node)} />
      </span>
    </div>
  );
}

function Body({ node }: { node: Node }) {
  const isFormatted = node.role === 'assistant' || node.role === 'user';
  return (
    <div class="message-body">
      {node.parts.map((part, index) => (
        <PartView key={index} node={node.id} part={part} isFormatted={isFormatted} />
      ))}
    </div>
  );
}

interface PartProps {
  node: string;
  part: Part;
  isFormatted: boolean;
}

/** A part of a message. */
export function PartView({ node, part, isFormatted }: PartProps): ComponentChildren {
  const present = words.value;
  if (part.text !== undefined) return isFormatted ? <Text text={part.text} /> : <PlainText text={clean(part.text)} />;
  if (part.thinking !== undefined) return <Folded title={present.thinking} text={part.thinking} />;
  if (part.channel !== undefined) return <Folded title={part.channel.name ?? ''} text={part.channel.text ?? ''} />;
  if (part.malformed !== undefined) return <PlainText text={clean(part.malformed.raw ?? '')} />;
  if (part.tool_call !== undefined) {
    const { name, arguments: given } = part.tool_call;
    return <FoldedJson title={present.toolCall(plainName(name))} value={given} isOpen />;
  }
  if (part.tool_result !== undefined) {
    const { content = part.tool_result } = part.tool_result;
    return <FoldedJson title={present.toolResult} value={content} />;
  }
  for (const kind of ['image', 'audio', 'video'] as const) {
    const stored = part[kind];
    if (stored !== undefined) return <StoredMedia node={node} kind={kind} part={stored} />;
  }
  return null;
}

interface FoldedProps {
  title: string;
  text: string;
  isCode?: boolean;
  isOpen?: boolean;
}

/** What is shown only when it is opened. */
export function Folded({ title, text, isCode = false, isOpen = false }: FoldedProps) {
  return (
    <details class="folded" open={isOpen}>
      <summary>{plainName(title)}</summary>
      <PlainText text={clean(text)} isCode={isCode} />
    </details>
  );
}

/** The messages before the first node. */
export function Preface() {
  const info = open.value?.info.value;
  const messages = info?.preface.messages ?? [];
  if (messages.length === 0) return null;
  return (
    <article class="message preface" aria-label={words.value.system}>
      {messages.map((message, index) => {
        const text = message.parts.map((part) => part.text ?? '').join('');
        return <Folded key={index} title={`${roleName(message.role)} · ${summary(text, 80)}`} text={text} />;
      })}
    </article>
  );
}
