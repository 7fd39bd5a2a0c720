"""Qwen3's architecture in plain PyTorch, with the weights' names of Hugging Face. Knows no text."""

from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Shape:
    """The sizes of a model."""

    vocabulary: int = 2048
    width: int = 192
    layers: int = 6
    heads: int = 4
    key_value_heads: int = 2
    head: int = 48
    inner: int = 512
    context: int = 2048
    theta: float = 10000.0
    epsilon: float = 1e-6

    def config(self):
        """The same as Hugging Face's `config.json` has it."""
        return {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "vocab_size": self.vocabulary,
            "hidden_size": self.width,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.key_value_heads,
            "head_dim": self.head,
            "intermediate_size": self.inner,
            "max_position_embeddings": self.context,
            "rope_theta": self.theta,
            "rms_norm_eps": self.epsilon,
            "hidden_act": "silu",
            "attention_bias": False,
            "attention_dropout": 0.0,
            "tie_word_embeddings": True,
            "use_cache": True,
            "use_sliding_window": False,
            "torch_dtype": "float32",
            "bos_token_id": None,
            "eos_token_id": 2,
            "pad_token_id": 0,
        }

    def as_dict(self):
        """What a checkpoint keeps."""
        return asdict(self)


def rotation(shape, device=None):
    """Cosines and sines of every position, each as wide as half a head."""
    frequencies = shape.theta ** (-torch.arange(0, shape.head, 2, device=device).float() / shape.head)
    angles = torch.arange(shape.context, device=device).float()[:, None] * frequencies
    return angles.cos(), angles.sin()


def rotate(x, cosines, sines):
    """Turns the first half of a head against the second, as GPT-NeoX and Llama do."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines), dim=-1)


class Norm(nn.Module):
    """RMSNorm."""

    def __init__(self, width, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.epsilon)


def attend(query, key, value):
    """Causal attention, written out: PyTorch's own has a backward pass on the CPU that takes more than half of a step.

    Keys are repeated for the heads that share them, and the future is added as a bias: both are cheap, and no shape
    then keeps the scores from being handled a vector at a time.
    """
    length, past = query.shape[2], key.shape[2] - query.shape[2]
    shared = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
    future = torch.full((length, past + length), float("-inf"), dtype=query.dtype, device=key.device).triu(past + 1)
    scores = (query * query.shape[3] ** -0.5) @ key.transpose(2, 3) + future
    return scores.softmax(-1) @ value


class Attention(nn.Module):
    """Grouped-query attention with normalised queries and keys."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.q_proj = nn.Linear(shape.width, shape.heads * shape.head, bias=False)
        self.k_proj = nn.Linear(shape.width, shape.key_value_heads * shape.head, bias=False)
        self.v_proj = nn.Linear(shape.width, shape.key_value_heads * shape.head, bias=False)
        self.o_proj = nn.Linear(shape.heads * shape.head, shape.width, bias=False)
        self.q_norm = Norm(shape.head, shape.epsilon)
        self.k_norm = Norm(shape.head, shape.epsilon)

    def forward(self, x, cosines, sines, cache):
        rows, length, _ = x.shape
        split = lambda y: y.view(rows, length, -1, self.shape.head).transpose(1, 2)
        query = rotate(self.q_norm(split(self.q_proj(x))), cosines, sines)
        key = rotate(self.k_norm(split(self.k_proj(x))), cosines, sines)
        value = split(self.v_proj(x))
        if cache is not None:
            key, value = cache.add(self, key, value)
        mixed = attend(query, key, value)
        return self.o_proj(mixed.transpose(1, 2).reshape(rows, length, -1))


class MLP(nn.Module):
    """SwiGLU."""

    def __init__(self, shape):
        super().__init__()
        self.gate_proj = nn.Linear(shape.width, shape.inner, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.inner, bias=False)
        self.down_proj = nn.Linear(shape.inner, shape.width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention, then the feed-forward half, each on a normalised stream."""

    def __init__(self, shape):
        super().__init__()
        self.input_layernorm = Norm(shape.width, shape.epsilon)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = Norm(shape.width, shape.epsilon)
        self.mlp = MLP(shape)

    def forward(self, x, cosines, sines, cache):
        x = x + self.self_attn(self.input_layernorm(x), cosines, sines, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """Embedding, layers, last norm."""

    def __init__(self, shape):
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.epsilon)


class Cache:
    """Keys and values of one row of tokens, for greedy decoding. The first call may be long, later ones are one token."""

    def __init__(self):
        self.held = {}
        self.length = 0

    def add(self, layer, key, value):
        """Puts new keys and values behind the old ones and returns all of them."""
        if layer in self.held:
            old_key, old_value = self.held[layer]
            key, value = torch.cat((old_key, key), 2), torch.cat((old_value, value), 2)
        self.held[layer] = key, value
        return key, value


class Model(nn.Module):
    """A causal language model whose embedding is its output matrix too."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.model = Decoder(shape)
        cosines, sines = rotation(shape)
        self.register_buffer("cosines", cosines, persistent=False)
        self.register_buffer("sines", sines, persistent=False)
        self.apply(self.initialise)

    def initialise(self, module):
        """Normal weights of 0.02; what writes to the residual stream starts smaller, with the number of layers."""
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, (Attention, MLP)):
            last = module.o_proj if isinstance(module, Attention) else module.down_proj
            nn.init.normal_(last.weight, std=0.02 / (2 * self.shape.layers) ** 0.5)

    def hidden(self, ids, cache=None):
        """The last layer's normalised stream, one vector a token."""
        start = cache.length if cache else 0
        end = start + ids.shape[1]
        x = self.model.embed_tokens(ids)
        cosines, sines = self.cosines[start:end].to(x.dtype), self.sines[start:end].to(x.dtype)
        for layer in self.model.layers:
            x = layer(x, cosines, sines, cache)
        if cache:
            cache.length = end
        return self.model.norm(x)

    def logits(self, hidden):
        """A number for each token of the vocabulary."""
        return F.linear(hidden, self.model.embed_tokens.weight)

    def forward(self, ids, cache=None):
        return self.logits(self.hidden(ids, cache))

    def greedy(self, prompt, limit, stops):
        """The most likely continuation of a list of ids, up to and including a stop token."""
        cache, said, feed = Cache(), [], prompt
        while len(said) < limit and (not said or said[-1] not in stops):
            logits = self(torch.tensor([feed]), cache)[0, -1]
            feed = [int(logits.argmax())]
            said += feed
        return said
