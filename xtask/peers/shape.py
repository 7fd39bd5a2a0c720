"""The shape of Qwen3-0.6B, from its config.json: speed depends on it, not on the weights."""

VOCABULARY = 151936
WIDTH = 1024
INNER = 3072
LAYERS = 28
HEADS = 16
KEY_VALUE_HEADS = 8
HEAD = 128
CONTEXT = 40960
THETA = 1e6
EPSILON = 1e-6
