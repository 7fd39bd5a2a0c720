"""What ONNX Runtime itself makes of an export, however the prompt is fed: the tokens that Alloquy is compared with.

Rounding depends on how many tokens are computed together. How far the logits drift by it is how near two tokens may be to a tie.
"""

import json
import random

import numpy
import onnxruntime

import sizes

TYPES = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_, "tensor(int8)": numpy.int8, "tensor(uint8)": numpy.uint8}  # fmt: skip
# A kernel rounds otherwise on another processor, and among other neighbours than those that were tried.
SAFETY = 4.0
PARTS = (1, 7)


class Export:
    """A graph with its caches: those of the GenAI builder are written in place, the others are new at each run."""

    def __init__(self, folder):
        described = folder / "genai_config.json"
        config = json.loads(described.read_text()) if described.exists() else {}
        self.head = config.get("model", {}).get("decoder", {}).get("head_size")
        self.is_shared = bool(config.get("search", {}).get("past_present_share_buffer"))
        name = config.get("model", {}).get("decoder", {}).get("filename", "model.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"])
        outputs = [output.name for output in self.session.get_outputs()]
        self.inputs = {given.name: given for given in self.session.get_inputs()}
        self.caches = {name: present_of(name, outputs) for name in self.inputs if name.startswith("past")}
        self.logits = "logits" if "logits" in outputs else outputs[0]

    def open(self, rows=1):
        """A sequence that holds nothing yet, or several of one length."""
        held = {}
        for name in self.caches:
            given = self.inputs[name]
            sizes_of = [rows, *(size if isinstance(size, int) else None for size in given.shape[1:])]
            if sizes_of.count(None) > 1:
                # Numbers packed into bytes may be fewer than those of a head, so this graph leaves the width open too.
                sizes_of[-1] = self.head
            grows = None in sizes_of
            length = sizes.CONTEXT if self.is_shared else 0
            shape = [length if size is None else size for size in sizes_of]
            # Memory of the library: one that is made of an array only borrows it.
            value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(shape, TYPES[given.type], "cpu", 0)
            if value.shape() and 0 not in value.shape():
                value.update_inplace(numpy.zeros(shape, TYPES[given.type]))
            held[name] = value, grows
        return {"rows": rows, "held": held, "length": 0}

    def feed(self, sequence, rows):
        """Computes ids, one list a row, and returns the logits that follow the last of each."""
        ids = numpy.array(rows, numpy.int64)
        count = ids.shape[1]
        binding = self.session.io_binding()
        total = sequence["length"] + count
        places = numpy.broadcast_to(numpy.arange(sequence["length"], total), ids.shape)
        given = {"input_ids": ids, "attention_mask": numpy.ones((len(rows), total)), "position_ids": places}
        bound = []
        for name, described in self.inputs.items():
            if name in self.caches:
                binding.bind_ortvalue_input(name, sequence["held"][name][0])
                continue
            if name not in given:
                raise ValueError(f"the graph takes {name!r}, which is not known here")
            value = given[name]
            if name == "position_ids" and len(described.shape) == 3:
                value = numpy.broadcast_to(value, (described.shape[0], *value.shape))
            # Kept until the run is over.
            bound.append(numpy.ascontiguousarray(value.astype(TYPES[described.type])))
            binding.bind_cpu_input(name, bound[-1])
        for name, present in self.caches.items():
            value, grows = sequence["held"][name]
            if self.is_shared and grows:
                binding.bind_ortvalue_output(present, value)
            else:
                binding.bind_output(present)
        binding.bind_output(self.logits)
        self.session.run_with_iobinding(binding)
        made = dict(zip(binding_names(self), binding.get_outputs()))
        for name, present in self.caches.items():
            sequence["held"][name] = made[present], sequence["held"][name][1]
        sequence["length"] = total
        return made[self.logits].numpy()[:, -1].astype(numpy.float32)

    def after(self, ids, part=None, beside=()):
        """A sequence with the logits after some ids, which are fed in parts, beside other rows of the same length."""
        rows = [list(ids), *beside]
        sequence = self.open(len(rows))
        part = part or len(ids)
        for start in range(0, len(ids), part):
            logits = self.feed(sequence, [row[start : start + part] for row in rows])
        return sequence, logits

    def replayed(self, ids, reply, part=None, beside=()):
        """The logits before each token of a reply."""
        sequence, logits = self.after(ids, part, beside)
        seen = [logits[0]]
        for token in reply[:-1]:
            seen.append(self.feed(sequence, [[token]] * sequence["rows"])[0])
        return numpy.stack(seen)


def binding_names(export):
    """The outputs in the order in which they were bound."""
    return [*export.caches.values(), export.logits]


def present_of(past, outputs):
    """The output that replaces a cache."""
    names = [past.replace("past_key_values", "present"), past.replace("past_key_values", "present_key_values"), past.replace("past", "present", 1)]
    for name in names:
        if name in outputs:
            return name
    raise ValueError(f"no output of the graph belongs to {past!r}")


def greedy(export, ids, count, part=None):
    """The likeliest tokens after some ids, which are fed in parts."""
    sequence, logits = export.after(ids, part)
    reply = [int(logits[0].argmax())]
    while len(reply) < count:
        reply.append(int(export.feed(sequence, [[reply[-1]]])[0].argmax()))
    return reply


def drift(export, ids, reply):
    """How far logits differ by how the same tokens are fed, and how far they spread."""
    plain = export.replayed(ids, reply)
    if not numpy.isfinite(plain).all():
        raise ValueError("ONNX Runtime's logits are not finite")
    others = [random.Random(seed).choices(range(10, sizes.VOCABULARY), k=len(ids)) for seed in (1, 2)]
    ways = [export.replayed(ids, reply, part) for part in PARTS]
    ways.append(export.replayed(ids, reply, beside=others))
    ways.append(numpy.stack([export.after([*ids, *reply[:place]])[1][0] for place in range(len(reply))]))
    return max(float(numpy.abs(way - plain).max()) for way in ways), float(plain.std())


def golden(folder, ids, count, expected=None, named=""):
    """Writes an export's golden, of so many tokens: those of ONNX Runtime. They have the name of what expected them, where they are the same."""
    export = Export(folder)
    reply = greedy(export, ids, count)
    difference, spread = drift(export, ids, reply)
    by = named if reply == expected else f"ONNX Runtime {onnxruntime.__version__}"
    margin = SAFETY * difference
    one_by_one = greedy(export, ids, count, 1)
    written = {"ids": ids, "out": reply, "out_one_by_one": one_by_one, "margin": margin, "spread": spread, "from": by}
    (folder / "golden.json").write_text(json.dumps(written))
    return {"reference": by, "margin": round(margin / spread, 6), "distinct": len(set(reply))}
