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

# The shape of LFM2-350M, from its config.json: convolutions, whose states have a fixed size, beside attention in six of 16 layers.
LFM2_VOCABULARY = 65536
LFM2_WIDTH = 1024
LFM2_INNER = 6656
LFM2_LAYERS = 16
LFM2_ATTENTION = [2, 5, 8, 10, 12, 14]
LFM2_HEADS = 16
LFM2_KEY_VALUE_HEADS = 8
LFM2_CONVOLUTION = 3
LFM2_EPSILON = 1e-5
