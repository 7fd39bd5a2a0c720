"""ONNX Runtime itself, with a cache that stays bound: what the runtimes above it add can be told from what it takes."""

import json
from pathlib import Path

import numpy
import onnxruntime

# As Alloquy's own ways of waiting: what is added to a session's options.
WAITING = {
    "spin": {"session.intra_op.allow_spinning": "1"},
    "sleep": {"session.intra_op.allow_spinning": "0"},
    "brief": {"session.intra_op.allow_spinning": "1", "session.intra_op.spin_duration_us": "8"},
}


class Bare:
    """A session whose threads wait in one of the ways; the highest logit is the next token."""

    def __init__(self, model, threads, waiting):
        self.name = f"onnxruntime {onnxruntime.__version__}, bound buffers, threads {waiting}"
        self.decoder = json.loads((Path(model) / "genai_config.json").read_text())["model"]["decoder"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        for key, value in WAITING[waiting].items():
            options.add_session_config_entry(key, value)
        path = str(Path(model) / self.decoder["filename"])
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        outputs = {output.name: output.shape for output in self.session.get_outputs()}
        self.vocabulary = outputs[self.decoder["outputs"]["logits"]][-1]

    def bind(self, length):
        """Binds a cache for so many tokens, and a place for the logits of one."""
        decoder, binding = self.decoder, self.session.io_binding()
        shape = (1, decoder["num_key_value_heads"], length, decoder["head_size"])
        self.kept = []
        for layer in range(decoder["num_hidden_layers"]):
            for kind in ("key", "value"):
                cache = numpy.zeros(shape, numpy.float32)
                self.kept.append(cache)
                past, present = (decoder[side][f"{time}_{kind}_names"] % layer for side, time in (("inputs", "past"), ("outputs", "present")))
                binding.bind_input(past, "cpu", 0, numpy.float32, shape, cache.ctypes.data)
                binding.bind_output(present, "cpu", 0, numpy.float32, shape, cache.ctypes.data)
        self.logits = numpy.zeros((1, 1, self.vocabulary), numpy.float32)
        binding.bind_output(decoder["outputs"]["logits"], "cpu", 0, numpy.float32, self.logits.shape, self.logits.ctypes.data)
        self.binding, self.held = binding, 0

    def forward(self, tokens):
        """Computes tokens, and returns the one that follows."""
        self.held += len(tokens)
        fed = {"input_ids": numpy.array([tokens], numpy.int64), "attention_mask": numpy.ones((1, self.held), numpy.int64)}
        for name, value in fed.items():
            self.binding.bind_input(self.decoder["inputs"][name], "cpu", 0, numpy.int64, value.shape, value.ctypes.data)
        self.session.run_with_iobinding(self.binding)
        return int(self.logits.argmax())
