#!/usr/bin/env python3
"""Writes WAV files whose headers do not say how long they are, or say it otherwise, and what libsndfile reads of each.

    wav_headers.py > media/tests/fixtures/audio/headers.json

Each case has the bytes of the file in hexadecimal and how many frames libsndfile reads, -1 for an error. Needs soundfile (libsndfile
1.2.2 when it was recorded).
"""

import io
import json
import struct
import sys

import soundfile

UNKNOWN = 0xFFFFFFFF
SAMPLES = bytes(range(1, 101))


def form(channels=1, rate=8000, bits=16, tag=1):
    block = channels * ((bits + 7) // 8)
    return b"fmt " + struct.pack("<IHHIIHH", 16, tag, channels, rate, rate * block, block, bits)


def chunk(name, content, length=None, padded=True):
    length = len(content) if length is None else length
    return name + struct.pack("<I", length) + content + (b"\0" if padded and len(content) % 2 else b"")


def data(length=None, samples=SAMPLES, padded=True):
    return chunk(b"data", samples, length, padded)


def riff(content, length=None, name=b"RIFF"):
    return name + struct.pack("<I", len(content) + 4 if length is None else length) + b"WAVE" + content


def large(samples, count, content, name=b"RF64"):
    sizes = chunk(b"ds64", struct.pack("<QQQI", 0, samples, count, 0))
    return riff(sizes + content, UNKNOWN, name)


LIST = chunk(b"LIST", b"INFOISFT" + struct.pack("<I", 4) + b"Lavf")

CASES = {
    "as it should be": riff(form() + data()),
    "piped by ffmpeg": riff(form() + LIST + data(UNKNOWN), UNKNOWN),
    "only the file's length unknown": riff(form() + data(), UNKNOWN),
    "only the samples' length unknown": riff(form() + data(UNKNOWN)),
    "piped, with a list behind the samples": riff(form() + data(UNKNOWN) + LIST, UNKNOWN),
    "piped, 2^31 - 1": riff(form() + data(0x7FFFFFFF), 0x7FFFFFFF),
    "piped by sox": riff(form() + data(0x7FFFF000), 0x7FFFF024),
    "piped, 2^31": riff(form() + data(0x80000000), 0x80000024),
    "piped, 2^32 - 2": riff(form() + data(0xFFFFFFFE), UNKNOWN),
    "piped, without room for the header": riff(form() + data(0xFFFFFFDB), UNKNOWN),
    "piped, half a frame at the end": riff(form() + data(UNKNOWN, SAMPLES[:99], False), UNKNOWN),
    "piped, 24 bits, most of a frame at the end": riff(form(bits=24) + data(UNKNOWN, SAMPLES[:98], False), UNKNOWN),
    "piped, 8 bits, an odd length": riff(form(bits=8) + data(UNKNOWN, SAMPLES[:99], False), UNKNOWN),
    "piped, stereo": riff(form(2) + data(UNKNOWN), UNKNOWN),
    "piped, stereo, half a frame at the end": riff(form(2) + data(UNKNOWN, SAMPLES[:98]), UNKNOWN),
    "piped, floating point": riff(form(bits=32, tag=3) + data(UNKNOWN, struct.pack("<9f", *range(9))), UNKNOWN),
    "never finished, zeros": riff(form() + data(0), 0),
    "never finished, the file's length is the header's": riff(form() + data(0), 36),
    "never finished, the file's length as libsndfile leaves it": riff(form() + data(0), 8),
    "never finished, half a frame at the end": riff(form() + data(0, SAMPLES[:99], False), 8),
    "never finished, the file's length unknown": riff(form() + data(0), UNKNOWN),
    "no samples": riff(form() + data(samples=b"")),
    "no samples, and a list": riff(form() + data(samples=b"") + LIST),
    "a thousand bytes too few": riff(form() + data(1100)),
    "a thousand bytes too few, half a frame at the end": riff(form() + data(1100, SAMPLES[:99], False)),
    "half a frame at the end": riff(form() + data(samples=SAMPLES[:99])),
    "half a frame at the end, not padded": riff(form() + data(samples=SAMPLES[:99], padded=False)),
    "stereo, half a frame at the end": riff(form(2) + data(samples=SAMPLES[:98])),
    "8 bits, padded, and a list": riff(form(bits=8) + data(samples=SAMPLES[:99]) + LIST),
    "8 bits, not padded": riff(form(bits=8) + data(samples=SAMPLES[:99], padded=False)),
    "an odd chunk before, padded": riff(form() + chunk(b"junk", b"abc") + data()),
    "garbage behind": riff(form() + data() + b"garbage here"),
    "the file's length too small": riff(form() + data(), 40),
    "the file's length too large": riff(form() + data(), 4000),
    "the file's length zero": riff(form() + data(), 0),
    "room for RF64": riff(chunk(b"JUNK", bytes(28)) + form() + data()),
    "RF64": large(100, 50, form() + data(UNKNOWN)),
    "RF64, no count of samples": large(100, 0, form() + data(UNKNOWN)),
    "RF64, fewer samples": large(60, 30, form() + data(UNKNOWN)),
    "RF64, fewer samples, and a list": large(60, 30, form() + data(UNKNOWN) + LIST),
    "RF64, more samples": large(1000, 500, form() + data(UNKNOWN)),
    "RF64, very many samples": large(2**63, 2**62, form() + data(UNKNOWN)),
    "RF64, no samples": large(0, 0, form() + data(UNKNOWN)),
    "RF64, both lengths": large(100, 50, form() + data()),
    "RF64, another length in the chunk": large(100, 50, form() + data(60)),
    "RF64, and a list": large(100, 50, form() + data(UNKNOWN) + LIST),
    "RF64, stereo": large(100, 25, form(2) + data(UNKNOWN)),
    "RF64, lengths behind the format": riff(
        form() + chunk(b"ds64", struct.pack("<QQQI", 0, 100, 50, 0)) + data(UNKNOWN), UNKNOWN, b"RF64"
    ),
    "RF64 without lengths": riff(form() + data(UNKNOWN), UNKNOWN, b"RF64"),
    "BW64": large(100, 50, form() + data(UNKNOWN), b"BW64"),
}


def frames(file):
    try:
        samples, _ = soundfile.read(io.BytesIO(file), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError:
        return -1
    return len(samples)


def main():
    cases = [{"name": name, "frames": frames(file), "file": file.hex()} for name, file in CASES.items()]
    print(f"libsndfile {soundfile.__libsndfile_version__}", file=sys.stderr)
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    print(f"[\n{lines}\n]")


if __name__ == "__main__":
    main()
