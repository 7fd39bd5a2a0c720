// A dialog that asks for one text.
import { useState } from 'preact/hooks';
import { words } from '../language';
import { Dialog } from './Dialog';
import { question, type Question } from './overlays';

export function QuestionDialog({ asked }: { asked: Question }) {
  const [value, setValue] = useState(asked.value);
  const close = () => {
    question.value = null;
  };
  return (
    <Dialog hasField title={asked.title} onClose={close}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          close();
          asked.answer(value);
        }}
      >
        <label>
          {asked.label}
          <input
            type="text"
            dir="auto"
            value={value}
            autoFocus
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        </label>
        <div class="form-foot">
          <button type="button" class="button" onClick={close}>
            {words.value.cancel}
          </button>
          <button type="submit" class="button primary">
            {words.value.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
