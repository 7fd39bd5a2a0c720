"""Writes a model of the same shape as llama.cpp reads it, all matrices in Q4_0: `gguf_model.py OUT`."""

import sys
from pathlib import Path

import gguf
import numpy as np

import shape

BLOCK, BLOCK_BYTES = 32, 18


def matrix(random, rows, columns):
    """A matrix of random nibbles in blocks of 32, each behind a scale in half precision."""
    blocks = random.integers(0, 256, (rows, columns // BLOCK, BLOCK_BYTES), dtype=np.uint8)
    blocks[..., :2] = np.frombuffer(np.float16(0.005).tobytes(), np.uint8)
    return blocks.reshape(rows, -1)


def describe(writer):
    """The sizes, and a vocabulary: a server makes text of what it writes, so each token has some; prompts are ids."""
    writer.add_context_length(shape.CONTEXT)
    writer.add_embedding_length(shape.WIDTH)
    writer.add_block_count(shape.LAYERS)
    writer.add_feed_forward_length(shape.INNER)
    writer.add_head_count(shape.HEADS)
    writer.add_head_count_kv(shape.KEY_VALUE_HEADS)
    writer.add_key_length(shape.HEAD)
    writer.add_value_length(shape.HEAD)
    writer.add_rope_freq_base(shape.THETA)
    writer.add_layer_norm_rms_eps(shape.EPSILON)
    writer.add_vocab_size(shape.VOCABULARY)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([f"t{token}" for token in range(shape.VOCABULARY)])
    writer.add_token_types([gguf.TokenType.NORMAL] * shape.VOCABULARY)
    writer.add_token_merges(["t 0"])
    writer.add_eos_token_id(0)


def matrices():
    """The names of the matrices with their rows and columns; the embedding is the output matrix too."""
    yield "token_embd", shape.VOCABULARY, shape.WIDTH
    queries, keys = shape.HEADS * shape.HEAD, shape.KEY_VALUE_HEADS * shape.HEAD
    sizes = [("attn_q", queries, shape.WIDTH), ("attn_k", keys, shape.WIDTH), ("attn_v", keys, shape.WIDTH), ("attn_output", shape.WIDTH, queries)]
    sizes += [("ffn_gate", shape.INNER, shape.WIDTH), ("ffn_up", shape.INNER, shape.WIDTH), ("ffn_down", shape.WIDTH, shape.INNER)]
    for layer in range(shape.LAYERS):
        for name, rows, columns in sizes:
            yield f"blk.{layer}.{name}", rows, columns


def norms():
    """The names of the norms with their widths."""
    yield "output_norm", shape.WIDTH
    for layer in range(shape.LAYERS):
        yield from ((f"blk.{layer}.{name}", width) for name, width in [("attn_norm", shape.WIDTH), ("ffn_norm", shape.WIDTH), ("attn_q_norm", shape.HEAD), ("attn_k_norm", shape.HEAD)])


def main(out):
    """Writes the file, or nothing."""
    random, part = np.random.default_rng(0), Path(f"{out}.part")
    writer = gguf.GGUFWriter(part, "qwen3")
    describe(writer)
    for name, rows, columns in matrices():
        writer.add_tensor(f"{name}.weight", matrix(random, rows, columns), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    for name, width in norms():
        writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.rename(out)


if __name__ == "__main__":
    main(sys.argv[1])
