// Where a message is written. What is not sent yet stays at its place in the tree.
import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { words } from '../language';
import { draft, keepDraft } from '../state/drafts';
import { models, open, send, stopAll, wantsFocus } from '../state/session';
import { set, settings } from '../state/settings';
import { attachments, messageOf, returnAttachments, takeAttachments } from '../state/attachments';
import { running, turnsAt } from '../state/turns';
import { receive } from './Drop';
import { fit } from './fit';
import { Icon } from './Icon';
import { AttachButtons, Attached } from './media/Attached';

const HIGHEST = 320;

export function Composer() {
  const present = open.value;
  const place = present?.id ?? 'new';
  const at = present?.at.value ?? null;
  const area = useRef<HTMLTextAreaElement>(null);
  const text = useSignal('');
  const isBusy = useSignal(false);
  void running.value;
  const isRunning = present !== null && turnsAt(present.id, at).some((turn) => turn.state.value !== 'failed');
  const isBranch = present !== null && present.tree.children(at).length > 0;

  const isEmpty = text.value.trim() === '' && attachments.value.length === 0;

  useEffect(() => {
    text.value = draft(place, at);
    requestAnimationFrame(() => {
      if (area.current) fit(area.current, HIGHEST);
    });
  }, [place, at]);
  useSignalEffect(() => {
    if (wantsFocus.value?.part !== 'composer') return;
    wantsFocus.value = null;
    area.current?.focus();
  });

  const submit = async () => {
    if (isRunning || isBusy.value || isEmpty) return;
    const sent = text.value;
    const media = takeAttachments();
    const instead = media.length === 0 ? null : { messages: [messageOf(sent, media)] };
    isBusy.value = true;
    text.value = '';
    keepDraft(place, at, '');
    if (!(await send(sent, instead))) {
      returnAttachments(media);
      text.value = sent;
      keepDraft(place, at, sent);
    }
    isBusy.value = false;
    if (area.current) fit(area.current, HIGHEST);
  };

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Attached />
      <textarea
        ref={area}
        id="composer"
        rows={1}
        dir="auto"
        aria-label={words.value.message}
        placeholder={isBranch ? words.value.placeholderBranch : words.value.placeholder}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          keepDraft(place, at, text.value);
          fit(event.currentTarget, HIGHEST);
        }}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])];
          if (files.length === 0) return;
          event.preventDefault();
          receive(files);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') {
            event.currentTarget.blur();
            return;
          }
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void submit();
        }}
      />
      <div class="composer-foot">
        <AttachButtons />
        <ModelChoice />
        {isRunning ? (
          <button type="button" class="send" aria-label={words.value.stop} title={words.value.stop} onClick={stopAll}>
            <Icon name="stop" />
          </button>
        ) : (
          <button
            type="submit"
            class="send"
            aria-label={words.value.send}
            title={words.value.send}
            disabled={isEmpty || isBusy.value}
          >
            <Icon name="up" />
          </button>
        )}
      </div>
    </form>
  );
}

function ModelChoice() {
  const known = models.value;
  if (known.length === 0) return <span class="quiet" />;
  const value = known.some((model) => model.id === settings.value.model)
    ? (settings.value.model ?? '')
    : (known[0]?.id ?? '');
  return (
    <select
      class="model-choice"
      aria-label={words.value.model}
      value={value}
      onChange={(event) => set({ model: event.currentTarget.value })}
    >
      {known.map((model) => (
        <option key={model.id} value={model.id}>
          {model.id}
        </option>
      ))}
    </select>
  );
}
