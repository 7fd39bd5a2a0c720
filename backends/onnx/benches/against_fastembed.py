#!/usr/bin/env python3
"""Compares how long the vectors of the same passages take here and with fastembed, one after the other on the same machine.

    against_fastembed.py FOLDER [PASSAGES [THREADS [PROFILE]]]

FOLDER is a model as tests/common/minilm.rs makes it. Runs benches/embedder.rs, then fastembed with the same file of the graph and the same
number of threads, and prints one line: both times, and how many times longer fastembed takes.
Needs fastembed 0.9, and cargo.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType


def ours(folder, passages, threads, profile, texts):
    environment = {
        **os.environ,
        "ALLOQUY_BENCH_EMBEDDER": str(folder),
        "ALLOQUY_BENCH_PASSAGES": passages,
        "ALLOQUY_BENCH_THREADS": threads,
        "ALLOQUY_BENCH_TEXTS": str(texts),
    }
    command = ["cargo", "bench", "-p", "alloquy-onnx", "--bench", "embedder", "--profile", profile]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"([\d.]+) seconds", printed).group(1))


def copied(folder, copy):
    """The folder with the files that fastembed needs besides."""
    shutil.copytree(folder, copy)
    (copy / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256, "pad_token": "[PAD]"}))
    specials = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    (copy / "special_tokens_map.json").write_text(json.dumps(specials))
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "pad_token_id": 0}))


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    passages, threads, profile = (sys.argv[2:] + ["10000", "2", "bench"][len(sys.argv) - 2 :])[:3]
    with tempfile.TemporaryDirectory() as temporary:
        texts = pathlib.Path(temporary) / "texts.json"
        here = ours(folder, passages, threads, profile, texts)
        texts = json.loads(texts.read_text())
        copy = pathlib.Path(temporary) / "model"
        copied(folder, copy)
        TextEmbedding.add_custom_model(
            model="local/minilm",
            pooling=PoolingType.MEAN,
            normalization=True,
            sources=ModelSource(hf="local/minilm"),
            dim=384,
        )
        model = TextEmbedding("local/minilm", specific_model_path=str(copy), threads=int(threads))
        start = time.monotonic()
        vectors = numpy.array(list(model.embed(texts)))
        there = time.monotonic() - start
        assert vectors.shape == (len(texts), 384)
        print(f"{len(texts)} passages, {threads} threads: {here:.1f} s here, {there:.1f} s with fastembed, ratio {there / here:.2f}")


main()
