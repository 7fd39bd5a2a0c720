// Where a message is written. What is not sent yet stays at its place in the tree.
import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { words } from '../language';
import { draft, keepDraft } from '../state/drafts';
import { models, open, send, stopAll, wantsFocus } from '../state/session';
import { set, settings } from '../state/settings';
import { about } from '../state/server';
import { askSeveral } from '../state/steering';
import { attachments, messageOf, returnAttachments, takeAttachments } from '../state/attachments';
import { usedTools } from '../state/tools';
import { running, turnsAt } from '../state/turns';
import { IconButton } from './Button';
import { receive } from './Drop';
import { fit } from './fit';
import { Icon } from './Icon';
import { plainName } from '../text/plain';
import { overlay } from './overlays';
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

  const several = async () => {
    if (isRunning || isBusy.value || text.value.trim() === '') return;
    isBusy.value = true;
    if ((await askSeveral(text.value)) !== null) {
      text.value = '';
      keepDraft(place, at, '');
    }
    isBusy.value = false;
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
          if (event.altKey) void several();
          else void submit();
        }}
      />
      <div class="composer-foot">
        <AttachButtons />
        <ModelChoice />
        {about.value?.tools && (
          <IconButton
            icon="tool"
            label={words.value.hostTools}
            pressed={Object.keys(usedTools(present?.info.value ?? null)).length > 0}
            keys="Alt+O"
            onClick={() => {
              overlay.value = 'tools';
            }}
          />
        )}
        <span class="space" />
        {!isRunning && text.value.trim() !== '' && (
          <IconButton icon="columns" label={words.value.askSeveral} keys="Alt+Enter" onClick={() => void several()} />
        )}
        <SendButton isRunning={isRunning} isDisabled={isEmpty || isBusy.value} />
      </div>
    </form>
  );
}

function SendButton({ isRunning, isDisabled }: { isRunning: boolean; isDisabled: boolean }) {
  const text = words.value;
  if (isRunning) {
    return (
      <button type="button" class="send" aria-label={text.stop} title={text.stop} onClick={stopAll}>
        <Icon name="stop" />
      </button>
    );
  }
  return (
    <button type="submit" class="send" aria-label={text.send} title={text.send} disabled={isDisabled}>
      <Icon name="up" />
    </button>
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
          {plainName(model.id)}
        </option>
      ))}
    </select>
  );
}
