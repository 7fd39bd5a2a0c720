"""Compares exports with the trained model: greedy tokens over held-out dialogues, each model following its own.

Writes what the trained model says beside the dialogues, for a comparison with what Alloquy makes of the export.
"""

import argparse
import json
import os
from pathlib import Path

# Read when the library starts: nothing is sent to its makers.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import onnxruntime
import torch
from tokenizers import Tokenizer

import checkpoint

STOPS, LIMIT = (2,), 256


class Exported:
    """A graph with shared buffers."""

    def __init__(self, folder, shape):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        self.shape = shape

    def logits(self, ids, past, caches):
        """The logits behind the last of `ids`; `past` tokens are in the caches."""
        feed = {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, past + len(ids)), np.int64), **caches}
        binding = self.session.io_binding()
        for name, value in feed.items():
            binding.bind_cpu_input(name, value)
        binding.bind_output("logits")
        for name, value in caches.items():
            present = name.replace("past_key_values", "present")
            binding.bind_output(present, "cpu", 0, np.float32, value.shape, value.ctypes.data)
        self.session.run_with_iobinding(binding)
        return binding.get_outputs()[0].numpy()[0, -1]

    def greedy(self, prompt, limit, stops):
        """The most likely continuation."""
        sizes = (1, self.shape.key_value_heads, self.shape.context, self.shape.head)
        layers = range(self.shape.layers)
        caches = {f"past_key_values.{i}.{part}": np.zeros(sizes, np.float32) for i in layers for part in ("key", "value")}
        said, feed, past = [], prompt, 0
        while len(said) < limit and (not said or said[-1] not in stops):
            logits = self.logits(feed, past, caches)
            past += len(feed)
            feed = [int(logits.argmax())]
            said += feed
        return said


def prompts(path):
    """The dialogues that have a prompt, with it."""
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return [(line["id"], line["prompt"]) for line in lines if "prompt" in line]


def agreement(reference, other):
    """How many tokens of the reference the other has before they part, and how many there are."""
    same = 0
    while same < min(len(reference), len(other)) and reference[same] == other[same]:
        same += 1
    return same, len(reference)


def main():
    """Prints the share of tokens and dialogues in which each export agrees with PyTorch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    checkpoint.offer(parser)
    parser.add_argument("--out", type=Path, required=True, help="the exports, with evaluation.jsonl in int8")
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = checkpoint.chosen(given)
    tokenizer = Tokenizer.from_file(str(given.folder / "model" / "tokenizer.json"))
    exports = {name: Exported(given.out / name, model.shape) for name in ("fp32", "int8")}
    counted = {name: np.zeros(3, int) for name in exports}
    goldens, asked = [], prompts(given.out / "int8" / "evaluation.jsonl")
    for name, text in asked:
        prompt = tokenizer.encode(text, add_special_tokens=False).ids
        with torch.no_grad():
            reference = model.greedy(prompt, LIMIT, STOPS)
        goldens.append(json.dumps({"id": name, "tokens": reference}))
        for export, exported in exports.items():
            same, length = agreement(reference, exported.greedy(prompt, LIMIT, STOPS))
            counted[export] += (same, length, same == length)
    (given.out / "int8" / "goldens.jsonl").write_text("\n".join(goldens) + "\n")
    for export, (same, length, whole) in counted.items():
        print(f"{export}: {same} of {length} tokens ({same / length:.2%}), {whole} of {len(asked)} dialogues")


if __name__ == "__main__":
    main()
