"""Measures one peer: `measure.py PEER MODEL THREADS NEW HISTORY PROMPT...`, a line of JSON for each length of a prompt.

A peer is `genai`, `llama`, or ONNX Runtime itself, whose threads wait in one of three ways: `bare-spin`, `bare-sleep`, `bare-brief`.

As Alloquy's own benchmark: a short run that is not counted comes first, a prompt's time is that to its first token, and a
reply's rate is that of the median step, which a disturbed machine moves less than the sum of all. HISTORY tokens are computed
before each prompt, and not timed.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

WARMUP_PROMPT, WARMUP_NEW = 16, 4


def babble(length):
    """Arbitrary tokens."""
    return [17 * place % 1000 + 10 for place in range(length)]


def earlier(length):
    """Arbitrary tokens of a history, others than a prompt's."""
    return [31 * place % 1000 + 20 for place in range(length)]


def timed(work):
    """How long something takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


class Genai:
    """ONNX Runtime GenAI, which takes its threads from the model's own file."""

    def __init__(self, model, threads):
        # Read when the library starts: nothing of a benchmark is sent to its makers.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime_genai

        self.library, self.name = onnxruntime_genai, f"onnxruntime-genai {onnxruntime_genai.__version__}"
        self.view = tempfile.TemporaryDirectory()
        view = Path(self.view.name)
        for file in Path(model).resolve().iterdir():
            if file.name != "genai_config.json":
                (view / file.name).symlink_to(file)
        config = json.loads((Path(model) / "genai_config.json").read_text())
        config["model"]["decoder"]["session_options"]["intra_op_num_threads"] = threads
        (view / "genai_config.json").write_text(json.dumps(config))
        self.model = onnxruntime_genai.Model(str(view))

    def run(self, history, prompt, new):
        """Seconds of the prompt after the history, and of each token."""
        parameters = self.library.GeneratorParams(self.model)
        length = history + prompt + new + 1
        parameters.set_search_options(max_length=length, min_length=length, do_sample=False)
        generator = self.library.Generator(self.model, parameters)
        if history:
            generator.append_tokens(earlier(history))

        def first():
            generator.append_tokens(babble(prompt))
            generator.generate_next_token()

        return timed(first), [timed(generator.generate_next_token) for _ in range(new)]


class Llama:
    """llama.cpp's server without its sockets, which a wheel brings ready to run."""

    def __init__(self, model, threads):
        import xllamacpp

        self.name = f"llama.cpp (xllamacpp {xllamacpp.__version__})"
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(model)
        parameters.n_ctx, parameters.n_batch, parameters.n_parallel = 8192, 512, 1
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
        parameters.warmup = False
        self.server = xllamacpp.Server(parameters)

    def run(self, history, prompt, new):
        """Seconds of the prompt after the history, and of each token."""
        times = []

        def took(piece):
            if piece["choices"][0]["text"]:
                times.append(time.perf_counter())

        before = earlier(history)
        if history:
            cached = {"prompt": before, "n_predict": 1, "temperature": 0, "ignore_eos": True}
            self.server.handle_completions({**cached, "cache_prompt": True, "stream": True}, lambda piece: None)
        asked = {"prompt": before + babble(prompt), "n_predict": new + 1, "temperature": 0, "ignore_eos": True}
        begun = time.perf_counter()
        self.server.handle_completions({**asked, "cache_prompt": bool(history), "stream": True}, took)
        if len(times) != new + 1:
            raise RuntimeError(f"{new + 1} tokens were asked for, {len(times)} came")
        return times[0] - begun, [after - before for before, after in zip(times, times[1:])]


class Bare:
    """ONNX Runtime itself."""

    def __init__(self, model, threads, waiting):
        import bare

        self.runtime = bare.Bare(model, threads, waiting)
        self.name = self.runtime.name

    def run(self, history, prompt, new):
        """Seconds of the prompt after the history, and of each token."""
        self.runtime.bind(history + prompt + new + 1)
        following = []

        def forward(tokens):
            following[:] = [self.runtime.forward(tokens)]

        if history:
            forward(earlier(history))

        first = timed(lambda: forward(babble(prompt)))
        return first, [timed(lambda: forward(list(following))) for _ in range(new)]


def peer_of(name, model, threads):
    """Loads a peer."""
    kind, _, waiting = name.partition("-")
    if kind == "bare":
        return Bare(model, threads, waiting)
    return {"genai": Genai, "llama": Llama}[kind](model, threads)


def main(peer, model, threads, new, history, *prompts):
    """Prints what was measured."""
    measured = peer_of(peer, model, int(threads))
    measured.run(0, WARMUP_PROMPT, WARMUP_NEW)
    for prompt in map(int, prompts):
        prefill, steps = measured.run(int(history), prompt, int(new))
        step = statistics.median(steps)
        told = {"peer": measured.name, "prompt": prompt, "prefill_rate": prompt / prefill, "step_seconds": step, "decode_rate": len(steps) / sum(steps)}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
