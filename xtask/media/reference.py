#!/usr/bin/env python3
"""Decodes the JPEGs among the media cases with Pillow, to compare ours with.

    reference.py CASES OUT [--samples FILE]

Writes OUT/NAME.png for each, which the test finds through ALLOQUY_MEDIA_REFERENCE=OUT, and checks that each has the digest that
the goldens name. With --samples, also some of the levels of each by that digest, for runs without the pictures.
Needs Pillow 12.1 and numpy.
"""

import argparse
import hashlib
import json
import pathlib

import numpy
from PIL import Image, ImageOps

SAMPLES = 750


def decoded(path):
    image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
    return numpy.asarray(image)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--samples", type=pathlib.Path)
    arguments = parser.parse_args()
    golden = json.loads((arguments.cases / "golden/compact.json").read_text())["decode"]
    arguments.out.mkdir(parents=True, exist_ok=True)
    samples = {}
    for name, row in golden.items():
        path = arguments.cases / "inputs/image" / name
        if not row["ok"] or path.read_bytes()[:2] != b"\xff\xd8":
            continue
        levels = decoded(path)
        digest = hashlib.sha256(levels.tobytes()).hexdigest()
        if digest != row["rgb_sha256"]:
            raise SystemExit(f"{name}: {digest}, not {row['rgb_sha256']}: another libjpeg")
        Image.fromarray(levels).save(arguments.out / f"{name}.png", compress_level=1)
        # A prime of bytes apart, so that all channels and columns are met.
        stride = next(n for n in range(max(1, levels.size // SAMPLES), 10**9) if n == 1 or all(n % k for k in range(2, int(n**0.5) + 1)))
        samples[digest] = {"stride": stride, "levels": levels.reshape(-1)[::stride].tobytes().hex()}
    if arguments.samples:
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in samples.items()]
        arguments.samples.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(samples)} JPEGs decoded")


if __name__ == "__main__":
    main()
