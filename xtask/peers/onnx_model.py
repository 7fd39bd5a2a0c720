"""Writes a model of random weights as ONNX Runtime GenAI's own builder makes it: `onnx_model.py OUT [qwen3|lfm2]`.

Four bits in blocks of 128, and logits of the last token alone, which is what runs fastest on a processor.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import Lfm2Config, Lfm2ForCausalLM, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

import shape

SPECIAL = ["<pad>", "<begin>", "<end>", "<|im_start|>", "<|im_end|>"]
CHATML = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
OPTIONS = ["block_size=128", "prune_lm_head=true"]


def qwen3():
    """The model that the peers are compared on."""
    config = Qwen3Config(
        vocab_size=shape.VOCABULARY, hidden_size=shape.WIDTH, intermediate_size=shape.INNER, num_hidden_layers=shape.LAYERS, num_attention_heads=shape.HEADS,
        num_key_value_heads=shape.KEY_VALUE_HEADS, head_dim=shape.HEAD, max_position_embeddings=shape.CONTEXT, rope_theta=shape.THETA, rms_norm_eps=shape.EPSILON,
        tie_word_embeddings=True, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return Qwen3ForCausalLM(config)


def lfm2():
    """A model with states."""
    config = Lfm2Config(
        vocab_size=shape.LFM2_VOCABULARY, hidden_size=shape.LFM2_WIDTH, intermediate_size=shape.LFM2_INNER, num_hidden_layers=shape.LFM2_LAYERS,
        num_attention_heads=shape.LFM2_HEADS, num_key_value_heads=shape.LFM2_KEY_VALUE_HEADS, max_position_embeddings=shape.CONTEXT, norm_eps=shape.LFM2_EPSILON,
        conv_L_cache=shape.LFM2_CONVOLUTION, full_attn_idxs=shape.LFM2_ATTENTION, rope_parameters={"rope_type": "default", "rope_theta": shape.THETA},
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return Lfm2ForCausalLM(config)


MODELS = {"qwen3": qwen3, "lfm2": lfm2}


def weights(name, folder):
    """Random weights with Hugging Face's names."""
    torch.manual_seed(0)
    model = MODELS[name]()
    model.to(torch.bfloat16).save_pretrained(folder)
    return model.config.vocab_size


def tokenizer(vocabulary, folder):
    """A tokenizer of single bytes: nobody measures it. What is drawn at random has a text all the same."""
    known = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    known += [f"w{place}" for place in range(len(known), vocabulary)]
    bytewise = Tokenizer(models.BPE(vocab={token: place for place, token in enumerate(known)}, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    pad, begin, end, *chat = SPECIAL
    PreTrainedTokenizerFast(tokenizer_object=bytewise, pad_token=pad, bos_token=begin, eos_token=end, additional_special_tokens=chat, chat_template=CHATML).save_pretrained(folder)


def main(out, name="qwen3"):
    """Writes the folder, or nothing."""
    with tempfile.TemporaryDirectory() as source, tempfile.TemporaryDirectory() as cache:
        tokenizer(weights(name, source), source)
        builder = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", source, "-c", cache, "-p", "int4", "-e", "cpu"]
        part = Path(f"{out}.part").resolve()
        # In a folder of its own: beside this file, the builder's imports would find this file.
        subprocess.run([*builder, "-o", str(part), "--extra_options", *OPTIONS], check=True, cwd=cache, env={**os.environ, "HF_HUB_OFFLINE": "1", "ORT_DISABLE_TELEMETRY": "1"}, stdout=sys.stderr)
        part.rename(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
