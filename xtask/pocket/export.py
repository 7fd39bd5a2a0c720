"""Exports a trained model: a folder as ONNX Runtime GenAI's builder writes it, in 8 bits and in 32-bit floats.

    OUT/int8/   model.onnx and all that a chat needs: what is embedded
    OUT/fp32/   the same with the trained weights, to compare with
    OUT/torch/  weights and configuration for transformers
"""

import argparse
import json
import shutil
from pathlib import Path

import onnx
import torch

import checkpoint
import vocabulary
from graph import Exporter, Quantised, Weights
from rendering import TEMPLATE

STOP, PAD = 2, 0
# Longer than any right reply: an answer that never ends is cut.
LONGEST = 256


def genai_config(shape):
    """What ONNX Runtime GenAI reads."""
    names = {"past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"}
    presents = {"present_key_names": "present.%d.key", "present_value_names": "present.%d.value"}
    decoder = {
        "session_options": {"provider_options": []},
        "filename": "model.onnx",
        "head_size": shape.head,
        "hidden_size": shape.width,
        "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask", **names},
        "outputs": {"logits": "logits", **presents},
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "num_key_value_heads": shape.key_value_heads,
    }
    model = {"type": "qwen3", "context_length": shape.context, "vocab_size": shape.vocabulary, "eos_token_id": STOP, "pad_token_id": PAD, "bos_token_id": PAD, "decoder": decoder}
    search = {"do_sample": False, "max_length": shape.context, "min_length": 0, "past_present_share_buffer": True, "repetition_penalty": 1.0, "temperature": 1.0, "top_k": 1, "top_p": 1.0}
    return {"model": model, "search": search}


def generation_config():
    """Greedy, until the end of the turn, but not for ever."""
    return {"do_sample": False, "eos_token_id": [STOP], "pad_token_id": PAD, "max_new_tokens": LONGEST}


def write_json(path, value):
    """JSON as people read it."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_descriptions(folder, shape, tokenizer):
    """Everything of a folder except the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in vocabulary.FILES:
        shutil.copy(tokenizer / name, folder / name)
    shutil.copy(TEMPLATE, folder / TEMPLATE.name)
    write_json(folder / "config.json", shape.config())
    write_json(folder / "generation_config.json", generation_config())


def export(model, run, out):
    """Writes the three folders."""
    state = model.state_dict()
    for weights in (Quantised(), Weights()):
        folder = out / weights.suffix
        write_descriptions(folder, model.shape, run / "model")
        write_json(folder / "genai_config.json", genai_config(model.shape))
        onnx.save(Exporter(model.shape, state, weights).model(), folder / "model.onnx")
    write_descriptions(out / "torch", model.shape, run / "model")
    torch.save(state, out / "torch" / "pytorch_model.bin")
    for path in sorted(out.glob("*/*")):
        print(f"{path.stat().st_size:>10} {path}")


def main():
    """Exports as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    checkpoint.offer(parser)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    export(checkpoint.chosen(given), given.folder, given.out)


if __name__ == "__main__":
    main()
