// The microphone: recorded by the browser, and sent as a WAV file.
import { computed, signal } from '@preact/signals';
import { mono, wave } from '../form/wave';
import { words } from '../language';
import { attach } from './attachments';
import { fail, speak } from './notices';
import { capabilities } from './server';

/** What models take at least. */
const RATE = 16_000;

interface Recording {
  recorder: MediaRecorder;
  pieces: Blob[];
}

const present = signal<Recording | null>(null);
export const isRecording = computed(() => present.value !== null);

/** Whether there is a microphone for the model: it takes audio, and the browser records. */
export const canRecord = computed(
  () => capabilities.value?.audio === true && typeof MediaRecorder !== 'undefined' && 'mediaDevices' in navigator,
);

async function begin(): Promise<void> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const recorder = new MediaRecorder(stream);
  const recording: Recording = { recorder, pieces: [] };
  recorder.addEventListener('dataavailable', (event) => recording.pieces.push(event.data));
  recorder.addEventListener('stop', () => {
    for (const track of stream.getTracks()) track.stop();
    present.value = null;
    finish(recording).catch(fail);
  });
  recorder.start();
  present.value = recording;
  speak(words.value.recording);
}

async function finish({ pieces }: Recording): Promise<void> {
  const data = await new Blob(pieces).arrayBuffer();
  if (data.byteLength === 0) return;
  const context = new OfflineAudioContext(1, 1, RATE);
  const audio = await context.decodeAudioData(data);
  const channels = Array.from({ length: audio.numberOfChannels }, (_, index) => audio.getChannelData(index));
  const bytes = wave(mono(channels), RATE);
  const name = `${words.value.recordingName}.wav`;
  await attach([new File([bytes], name, { type: 'audio/wav' })]);
}

/** Begins a recording, or ends it and attaches it. */
export async function toggleRecording(): Promise<void> {
  if (present.value) {
    present.value.recorder.stop();
    return;
  }
  try {
    await begin();
  } catch (error) {
    fail(error instanceof DOMException ? new Error(words.value.noMicrophone) : error);
  }
}
