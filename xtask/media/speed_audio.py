"""Measures how long Hugging Face's feature extractors take for 30 seconds of sound, on one thread.

The counterpart of `media/examples/audio_speed.rs`. Needs numpy and transformers, and torch for Whisper's faster way.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import time

import numpy
from transformers import Gemma3nAudioFeatureExtractor, Gemma4AudioFeatureExtractor, WhisperFeatureExtractor

ROUNDS = 11
RATE = 16_000


def noise():
    """Thirty seconds of noise under a slow wave."""
    index = numpy.arange(30 * RATE, dtype=numpy.uint64)
    random = ((index * 2_654_435_761) & 0xFFFF_FFFF) >> 8
    wave = numpy.sin(index.astype(numpy.float64) / RATE)
    return ((random / 16_777_216 - 0.5) * wave * 0.5).astype(numpy.float32)


def report(name, measured):
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        measured()
        times.append((time.perf_counter() - began) * 1000)
    times.sort()
    print(f"{name:<28} median {times[ROUNDS // 2]:7.2f} ms, least {times[0]:7.2f} ms")


def main():
    sound = noise()
    whisper = WhisperFeatureExtractor(feature_size=128)
    try:
        import torch

        torch.set_num_threads(1)
        report("Whisper, 128 bands (torch)", lambda: whisper(sound, sampling_rate=RATE, return_tensors="np"))
    except ImportError:
        pass
    report("Whisper, 128 bands (numpy)", lambda: whisper._np_extract_fbank_features(sound[None], "cpu"))
    gemma3n = Gemma3nAudioFeatureExtractor()
    report("Gemma 3n", lambda: gemma3n([sound], return_tensors="np"))
    gemma4 = Gemma4AudioFeatureExtractor()
    report("Gemma 4", lambda: gemma4([sound], return_tensors="np"))


if __name__ == "__main__":
    main()
