"""The weights of an export, as training has them. Undoes what `graph.py` does; 8 bits stay as coarse as they are."""

import onnx
from onnx import numpy_helper
import numpy as np
import torch

PARTS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
REST = {"attn.o_proj": "self_attn.o_proj", "mlp.gate_proj": "mlp.gate_proj", "mlp.up_proj": "mlp.up_proj", "mlp.down_proj": "mlp.down_proj"}


class Export:
    """The constants of a graph."""

    def __init__(self, path):
        constants = onnx.load(path).graph.initializer
        self.constants = {constant.name: numpy_helper.to_array(constant) for constant in constants}

    def matrix(self, name):
        """A matrix, output first, whichever way it is kept."""
        kept = self.constants.get(f"{name}.weight_Q8")
        if kept is None:
            return self.constants[f"{name}.weight"].T
        wide = (kept.astype(np.float32) - 128) * self.constants[f"{name}.weight_scales"]
        return wide.reshape(wide.shape[0], -1)

    def state(self, shape):
        """Every weight of a model of this shape by its name."""
        state = {"model.embed_tokens.weight": self.matrix("lm_head.MatMul")}
        state |= {name: value for name, value in self.constants.items() if name.endswith("norm.weight")}
        for layer in range(shape.layers):
            place = f"model.layers.{layer}"
            joint = self.matrix(f"{place}.attn.qkv_proj.MatMul")
            queries, shared = shape.heads * shape.head, shape.key_value_heads * shape.head
            pieces = np.split(joint, [queries, queries + shared])
            state |= {f"{place}.{part}.weight": piece for part, piece in zip(PARTS, pieces)}
            state |= {f"{place}.{ours}.weight": self.matrix(f"{place}.{theirs}.MatMul") for theirs, ours in REST.items()}
        return {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
