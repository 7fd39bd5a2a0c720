"""Writes a decoder as ONNX, with the operators and names of ONNX Runtime GenAI's builder. Knows weights, not training."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from model import rotation

MICROSOFT = "com.microsoft"
# Opset and format of GenAI's exports, which ONNX Runtime 1.23 reads.
OPSET, IR = 21, 10
BLOCK = 32


class Weights:
    """How matrices are kept: as 32-bit floats."""

    suffix = "fp32"

    def matrix(self, graph, name, weight, source, output):
        """Multiplies by a matrix that stands as PyTorch has it, output first."""
        graph.constant(f"{name}.weight", np.ascontiguousarray(weight.T))
        graph.node("MatMul", [source, f"{name}.weight"], [output])

    def embedding(self, graph, name, weight, ids, output):
        """Looks rows up in the matrix that is the output's too, which is kept once."""
        graph.constant(f"{name}.weight", np.ascontiguousarray(weight.T))
        graph.node("Transpose", [f"{name}.weight"], ["/model/embed_tokens/Transpose/output_0"], perm=[1, 0])
        graph.node("Gather", ["/model/embed_tokens/Transpose/output_0", ids], [output])

    def head(self, graph, name, weight, source, output):
        """Multiplies by the matrix of the embedding."""
        graph.node("MatMul", [source, f"{name}.weight"], [output])


class Quantised(Weights):
    """How matrices are kept: 8 bits a number, a scale for each 32 of a row; ONNX Runtime widens them once, when it loads.

    Its kernels for 8 bits round what they multiply to 8 bits too. In a model this small that changes every fiftieth reply,
    and the widened matrices fit the processor's caches: what they read more, they save in arithmetic.
    """

    suffix = "int8"

    def wide(self, graph, name, weight):
        """Keeps a matrix in blocks, 128 for zero, and gives the name of it in floats."""
        rows, width = weight.shape
        blocks = weight.reshape(rows, width // BLOCK, BLOCK)
        scales = np.abs(blocks).max(-1, keepdims=True) / 127
        scales[scales == 0] = 1
        whole = np.clip(np.rint(blocks / scales), -127, 127) + 128
        graph.constant(f"{name}.weight_Q8", whole.astype(np.uint8))
        graph.constant(f"{name}.weight_scales", scales.astype(np.float32))
        graph.constant("/model/constants/FLOAT/128", np.array(128, np.float32))
        graph.node("Cast", [f"{name}.weight_Q8"], [f"{name}/Cast/output_0"], to=TensorProto.FLOAT)
        graph.node("Sub", [f"{name}/Cast/output_0", "/model/constants/FLOAT/128"], [f"{name}/Sub/output_0"])
        graph.node("Mul", [f"{name}/Sub/output_0", f"{name}.weight_scales"], [f"{name}/Mul/output_0"])
        graph.node("Reshape", [f"{name}/Mul/output_0", graph.integers([rows, width])], [f"{name}/Reshape/output_0"])
        return f"{name}/Reshape/output_0"

    def multiply(self, graph, name, wide, source, output):
        """Multiplies by a matrix that stands output first."""
        graph.node("Transpose", [wide], [f"{name}/Transpose/output_0"], perm=[1, 0])
        graph.node("MatMul", [source, f"{name}/Transpose/output_0"], [output])

    def matrix(self, graph, name, weight, source, output):
        self.multiply(graph, name, self.wide(graph, name, weight), source, output)

    def embedding(self, graph, name, weight, ids, output):
        graph.node("Gather", [self.wide(graph, name, weight), ids], [output])

    def head(self, graph, name, weight, source, output):
        self.multiply(graph, name, f"{name}/Reshape/output_0", source, output)


class Graph:
    """Nodes and constants on their way into a model."""

    def __init__(self):
        self.nodes, self.constants = [], {}

    def node(self, kind, inputs, outputs, domain="", **attributes):
        """Adds an operator, named after its first output."""
        name = outputs[0].rsplit("/output_", 1)[0]
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=name, domain=domain, **attributes))

    def constant(self, name, value):
        """Adds a tensor."""
        self.constants[name] = numpy_helper.from_array(value, name)

    def integers(self, values):
        """A tensor of whole numbers, kept once."""
        name = f"/model/constants/INT64/{values}"
        self.constant(name, np.array(values, np.int64))
        return name


class Exporter:
    """One model on its way into one graph."""

    def __init__(self, shape, state, weights):
        self.shape, self.weights, self.graph = shape, weights, Graph()
        self.state = {name: tensor.detach().float().numpy() for name, tensor in state.items()}

    def model(self):
        """The whole graph."""
        self.masks()
        self.graph.constant("cos_cache", rotation(self.shape)[0].numpy())
        self.graph.constant("sin_cache", rotation(self.shape)[1].numpy())
        table = self.state["model.embed_tokens.weight"]
        stream = "/model/embed_tokens/Gather/output_0"
        self.weights.embedding(self.graph, "lm_head.MatMul", table, "input_ids", stream)
        normal = self.first_norm(stream)
        for index in range(self.shape.layers):
            stream, normal = self.layer(index, stream, normal)
        self.weights.head(self.graph, "lm_head.MatMul", table, normal, "logits")
        return self.finished()

    def masks(self):
        """From the attention mask: how long each row is, less one, and how long the longest."""
        base = "/model/attn_mask_reformat/attn_mask_subgraph"
        one = self.graph.integers([1])
        self.graph.constant("/model/constants/INT64/1", np.array(1, np.int64))
        self.graph.node("ReduceSum", ["attention_mask", one], [f"{base}/ReduceSum/output_0"], keepdims=0)
        self.graph.node("Sub", [f"{base}/ReduceSum/output_0", one], [f"{base}/Sub/output_0"])
        self.graph.node("Cast", [f"{base}/Sub/output_0"], ["row_lengths"], to=TensorProto.INT32)
        self.graph.node("Shape", ["attention_mask"], [f"{base}/Shape/output_0"])
        self.graph.node("Gather", [f"{base}/Shape/output_0", "/model/constants/INT64/1"], [f"{base}/Gather/output_0"], axis=0)
        self.graph.node("Cast", [f"{base}/Gather/output_0"], ["total_length"], to=TensorProto.INT32)

    def norm(self, name):
        """Keeps a norm's weights and returns their name."""
        self.graph.constant(name, self.state[name])
        return name

    def simple_norm(self, source, name, output):
        """A norm alone."""
        settings = {"epsilon": self.shape.epsilon, "axis": -1, "stash_type": 1}
        self.graph.node("SimplifiedLayerNormalization", [source, self.norm(name)], [output], **settings)
        return output

    def first_norm(self, stream):
        """The norm in front of the first layer; all others are fused with a sum."""
        return self.simple_norm(stream, "model.layers.0.input_layernorm.weight", "/model/layers.0/input_layernorm/output_0")

    def sum_norm(self, stream, added, name, place):
        """Adds to the stream; returns the sum and its norm."""
        normal, total = f"{place}/output_0", f"{place}/output_3"
        inputs = [stream, added, self.norm(name)]
        self.graph.node("SkipSimplifiedLayerNormalization", inputs, [normal, "", "", total], MICROSOFT, epsilon=self.shape.epsilon)
        return total, normal

    def layer(self, index, stream, normal):
        """One layer: attention, then the feed-forward half."""
        place, name = f"/model/layers.{index}", f"model.layers.{index}"
        mixed = self.attention(index, normal)
        stream, normal = self.sum_norm(stream, mixed, f"{name}.post_attention_layernorm.weight", f"{place}/post_attention_layernorm")
        inner = self.feed_forward(index, normal)
        last = index + 1 == self.shape.layers
        following = "model.norm.weight" if last else f"model.layers.{index + 1}.input_layernorm.weight"
        return self.sum_norm(stream, inner, following, f"/model/layers.{index + 1}/input_layernorm")

    def project(self, index, part, weight, source):
        """A matrix of a layer."""
        output = f"/model/layers.{index}/{part}/MatMul/output_0"
        self.weights.matrix(self.graph, f"model.layers.{index}.{part.replace('/', '.')}.MatMul", weight, source, output)
        return output

    def attention(self, index, normal):
        """Queries, keys and values from one matrix, norms, and the fused attention that turns and keeps them."""
        shape, place, state = self.shape, f"/model/layers.{index}/attn", f"model.layers.{index}.self_attn"
        parts = [self.state[f"{state}.{part}_proj.weight"] for part in "qkv"]
        joint = self.project(index, "attn/qkv_proj", np.concatenate(parts), normal)
        split = [f"{place}/qkv_proj/Split/output_{part}" for part in range(3)]
        self.graph.node("Split", [joint, self.graph.integers([len(part) for part in parts])], split, axis=-1)
        query = self.head_norm(index, "q_norm", split[0], shape.heads)
        key = self.head_norm(index, "k_norm", split[1], shape.key_value_heads)
        past = [f"past_key_values.{index}.{part}" for part in ("key", "value")]
        present = [f"present.{index}.{part}" for part in ("key", "value")]
        inputs = [query, key, split[2], *past, "row_lengths", "total_length", "cos_cache", "sin_cache"]
        mixed = f"{place}/GroupQueryAttention/output_0"
        heads = {"num_heads": shape.heads, "kv_num_heads": shape.key_value_heads}
        settings = {**heads, "scale": shape.head**-0.5, "do_rotary": 1, "rotary_interleaved": 0, "local_window_size": -1}
        self.graph.node("GroupQueryAttention", inputs, [mixed, *present], MICROSOFT, **settings)
        return self.project(index, "attn/o_proj", self.state[f"{state}.o_proj.weight"], mixed)

    def head_norm(self, index, part, source, heads):
        """The norm of each head of queries or keys."""
        place = f"/model/layers.{index}/attn/{part}"
        single, joint = self.graph.integers([0, -1, self.shape.head]), self.graph.integers([0, -1, heads * self.shape.head])
        self.graph.node("Reshape", [source, single], [f"{place}/Reshape_1/output_0"])
        output = f"{place}/SimplifiedLayerNormalization/output_0"
        self.simple_norm(f"{place}/Reshape_1/output_0", f"model.layers.{index}.self_attn.{part}.weight", output)
        self.graph.node("Reshape", [output, joint], [f"{place}/Reshape_2/output_0"])
        return f"{place}/Reshape_2/output_0"

    def feed_forward(self, index, normal):
        """SwiGLU."""
        place, state = f"/model/layers.{index}/mlp", f"model.layers.{index}.mlp"
        gate = self.project(index, "mlp/gate_proj", self.state[f"{state}.gate_proj.weight"], normal)
        up = self.project(index, "mlp/up_proj", self.state[f"{state}.up_proj.weight"], normal)
        self.graph.node("Sigmoid", [gate], [f"{place}/act_fn/Sigmoid/output_0"])
        self.graph.node("Mul", [gate, f"{place}/act_fn/Sigmoid/output_0"], [f"{place}/act_fn/Mul/output_0"])
        self.graph.node("Mul", [f"{place}/act_fn/Mul/output_0", up], [f"{place}/Mul/output_0"])
        return self.project(index, "mlp/down_proj", self.state[f"{state}.down_proj.weight"], f"{place}/Mul/output_0")

    def caches(self, kind, length):
        """The inputs or outputs that hold keys and values."""
        sizes = ["batch_size", self.shape.key_value_heads, length, self.shape.head]
        for part in ("key", "value"):
            for index in range(self.shape.layers):
                yield helper.make_tensor_value_info(f"{kind}.{index}.{part}", TensorProto.FLOAT, sizes)

    def finished(self):
        """The model with its inputs and outputs. ONNX's own checker does not know the fused operators."""
        info = helper.make_tensor_value_info
        ids = info("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"])
        mask = info("attention_mask", TensorProto.INT64, ["batch_size", "total_sequence_length"])
        logits = info("logits", TensorProto.FLOAT, ["batch_size", "sequence_length", self.shape.vocabulary])
        inputs = [ids, mask, *self.caches("past_key_values", "past_sequence_length")]
        outputs = [logits, *self.caches("present", "total_sequence_length")]
        graph = helper.make_graph(self.graph.nodes, "main_graph", inputs, outputs, list(self.graph.constants.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="alloquy-pocket")
