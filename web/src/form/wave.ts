// Audio as a WAV file, which models take where they do not take what a browser records.

/** Writes samples between -1 and 1 as a WAV file with 16 bits and one channel. */
export function wave(samples: Float32Array, rate: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(44 + 2 * samples.length);
  const view = new DataView(bytes.buffer);
  const text = (at: number, letters: string) => {
    for (let index = 0; index < letters.length; index += 1) view.setUint8(at + index, letters.charCodeAt(index));
  };
  text(0, 'RIFF');
  view.setUint32(4, 36 + 2 * samples.length, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, index) => {
    const cut = Math.max(-1, Math.min(1, sample));
    view.setInt16(44 + 2 * index, Math.round(cut < 0 ? cut * 0x8000 : cut * 0x7fff), true);
  });
  return bytes;
}

/** Joins the channels of a recording. */
export function mono(channels: readonly Float32Array[]): Float32Array {
  const joined = new Float32Array(channels[0]?.length ?? 0);
  for (const channel of channels) {
    channel.forEach((sample, index) => {
      joined[index] = (joined[index] ?? 0) + sample / channels.length;
    });
  }
  return joined;
}
