#!/usr/bin/env python3
"""Times ours beside Hugging Face's image processors on one picture, in one run.

    speed.py PICTURE [--runs N] [--example FILE]

Builds and runs the example `image_speed` (one thread; with --example, runs FILE instead), then the processors of transformers with the back ends torchvision (on two
threads and on one) and Pillow, decoding included, and prints a table of medians in milliseconds. Needs torch, torchvision,
transformers 5 and Pillow.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import time

import torch
from PIL import Image
from transformers.models.gemma3 import image_processing_gemma3, image_processing_pil_gemma3
from transformers.models.qwen2_vl import image_processing_qwen2_vl, image_processing_pil_qwen2_vl

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIP = {"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}
GEMMA = {"size": {"height": 896, "width": 896}}
QWEN = {"size": {"shortest_edge": 3136, "longest_edge": 12845056}, **CLIP}


def ours(picture, runs, example):
    build = ["cargo", "run", "--release", "--quiet", "-p", "alloquy-media"]
    command = [str(example)] if example else build + ["--example", "image_speed", "--"]
    command += [str(picture), str(runs)]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return {(row["model"], row["backend"]): row["milliseconds"] for row in rows}


def median(processor, picture, runs):
    def once():
        image = Image.open(picture).convert("RGB")
        return processor(images=image, return_tensors="pt")

    once()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        once()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def theirs(picture, runs):
    torchvision = {
        "gemma3": image_processing_gemma3.Gemma3ImageProcessor(**GEMMA),
        "qwen2_5_vl": image_processing_qwen2_vl.Qwen2VLImageProcessor(**QWEN),
    }
    pillow = {
        "gemma3": image_processing_pil_gemma3.Gemma3ImageProcessorPil(**GEMMA),
        "qwen2_5_vl": image_processing_pil_qwen2_vl.Qwen2VLImageProcessorPil(**QWEN),
    }
    for name, processor in torchvision.items():
        for threads in (2, 1):
            torch.set_num_threads(threads)
            yield name, f"torchvision, {threads} threads", median(processor, picture, runs)
        yield name, "Pillow", median(pillow[name], picture, runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--example", type=pathlib.Path)
    arguments = parser.parse_args()
    picture = arguments.picture.resolve()
    measured = ours(picture, arguments.runs, arguments.example)
    for (name, backend), milliseconds in measured.items():
        print(f"{name:<12} ours, {backend:<24} {milliseconds:8.1f} ms")
    for name, backend, milliseconds in theirs(picture, arguments.runs):
        ratio = milliseconds / measured[name, "Torchvision"]
        print(f"{name:<12} theirs, {backend:<22} {milliseconds:8.1f} ms  {ratio:5.2f} x ours")


if __name__ == "__main__":
    main()
