#!/usr/bin/env python3
"""The replies of transformers to images and videos, on the weights of tiny exports: greedy ids and first logits, as fixtures.

    python xtask/media/replies.py MODELS backends/onnx/tests/fixtures/media tests/tests/videos

MODELS is the folder of models that ALLOQUY_SHARED holds. The exports have random linear maps, and norms and biases that are
one or zero, so a transformers model of the same configuration gets the linear maps in the order in which the graph applies
them; that nothing else was trained is checked. Images are not decoded: pixels are numbers that the tests make too.

The last folder gets conversations with videos: a document of AKI and the reply to it. Their frames go through the models' video
processors.

Made: Gemma 3 in both layouts (whose decoders have different weights), Qwen2.5-VL and Qwen3-VL (both layouts, one model).
Left out, because the exports leave it out: attention both ways among the positions of an image (Gemma 3), and what images
add after the first layers (Qwen3-VL, "deepstack"). Not made: Gemma 3n. The vision tower of its export is a stand-in that
transformers does not have, and the exporter folded its audio encoder and its decoder so far that the order of the maps does not tell which is which.
"""

import base64
import io
import json
import pathlib
import sys

import numpy
import onnx
import torch
import transformers
from onnx import numpy_helper
from PIL import Image

GREEDY = 12
# As in backends/onnx/tests/media/tiny.rs.
ROWS, COLUMNS = 2, 3
START, END = 13, 14


def weights(path):
    """The linear maps of a graph in the order of their use, and everything else by name."""
    model = onnx.load(str(path))
    stored = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    maps = []
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in stored:
            maps.append((node.input[1], stored[node.input[1]]))
    return maps, stored


def put(parameter, values):
    values = torch.from_numpy(numpy.array(values))
    assert parameter.shape == values.shape, (parameter.shape, values.shape)
    parameter.data.copy_(values)


def untrained(model, gemma):
    """Sets biases to zero and norms to one, as all of the exports have them."""
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1:
            is_norm = "norm" in name or ".ln_q." in name
            centred = gemma and "vision_tower" not in name
            one = 1.0 if is_norm and name.endswith("weight") and not centred else 0.0
            parameter.data.fill_(one)


def check_untrained(stored):
    for name, values in stored.items():
        if values.ndim == 1 and values.dtype == numpy.float32 and values.size in (32, 64, 128, 192, 256):
            if "freq" not in name and "scale" not in name:
                # SigLIP's biases start as noise of a millionth; each has a name of its own.
                is_one = numpy.ptp(values) == 0 and values[0] == 1
                assert is_one or abs(values).max() < 1e-5, (name, values[:4])


def fill_decoder(model, path):
    maps, stored = weights(path)
    check_untrained(stored)
    layers = model.model.language_model.layers
    rest = [values for _, values in maps if min(values.shape) >= 16]
    for layer in layers:
        attention, feed = layer.self_attn, layer.mlp
        order = [attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj]
        for linear in order + [feed.gate_proj, feed.up_proj, feed.down_proj]:
            put(linear.weight, rest.pop(0).T)
    if rest:
        # A parameter of its own: in one of the exports it is not the table of embeddings.
        model.lm_head.weight = torch.nn.Parameter(torch.from_numpy(rest.pop(0).T.copy()))
    assert not rest, [values.shape for values in rest]


def fill_embeddings(model, path):
    _, stored = weights(path)
    table = [values for values in stored.values() if values.shape == (512, 64)]
    assert len(table) == 1
    put(model.get_input_embeddings().weight, table[0])


def fill_gemma_vision(model, path):
    maps, stored = weights(path)
    check_untrained(stored)
    tower = model.model.vision_tower
    parts = dict(tower.named_parameters())
    named = {name.split("vision_tower.")[-1]: values for name, values in stored.items()}
    patch = next(name for name in parts if name.endswith("patch_embedding.weight"))
    place = next(name for name in parts if name.endswith("position_embedding.weight"))
    put(parts[patch], named["embeddings.patch_embedding.weight"])
    put(parts[place], next(values for values in stored.values() if values.shape == (1, 16, 64))[0])
    for name, parameter in parts.items():
        if parameter.ndim == 1 and name.endswith("bias") and "mlp" in name:
            put(parameter, named[name])
    rest = [values for _, values in maps]
    encoder = next(module for module in tower.modules() if hasattr(module, "layers"))
    for layer in encoder.layers:
        attention = layer.self_attn
        order = [attention.q_proj, attention.k_proj, attention.v_proj, attention.out_proj]
        for linear in order + [layer.mlp.fc1, layer.mlp.fc2]:
            put(linear.weight, rest.pop(0).T)
    put(model.model.multi_modal_projector.mm_input_projection_weight, rest.pop(0))
    assert not rest


def fill_qwen_vision(model, path):
    _, stored = weights(path)
    check_untrained(stored)
    for name, parameter in model.model.visual.named_parameters():
        values = stored.get(f"v.{name}")
        if parameter.ndim > 1:
            assert values is not None, name
            put(parameter, values)


def pixels(seed, shape):
    index = numpy.arange(numpy.prod(shape), dtype=numpy.int64)
    number = ((index * 7919 + seed * 104729) % 2001).astype(numpy.float32)
    return torch.from_numpy((number / numpy.float32(1000) - numpy.float32(1)).reshape(shape))


class Gemma3:
    soft, count, splits, video = 12, 4, False, None

    @staticmethod
    def inputs(seeds, _video, _ids):
        return {"pixel_values": torch.cat([pixels(seed, (1, 3, 56, 56)) for seed in seeds])}


class Qwen:
    soft, count, video = 15, ROWS * COLUMNS, 16

    def __init__(self, width, splits):
        self.width, self.splits = width, splits

    def inputs(self, seeds, video, ids):
        shown = [pixels(seed, (4 * ROWS * COLUMNS, self.width)) for seed in seeds]
        grid = torch.tensor([[1, 2 * ROWS, 2 * COLUMNS]] * len(seeds))
        types = (ids == self.soft).int() + 2 * (ids == self.video).int()
        named = {"mm_token_type_ids": types}
        if seeds:
            named |= {"pixel_values": torch.cat(shown), "image_grid_thw": grid}
        if video:
            shown = [pixels(seed, (4 * ROWS * COLUMNS, self.width)) for seed in video["seeds"]]
            grid = torch.tensor([[len(shown), 2 * ROWS, 2 * COLUMNS]])
            named |= {"pixel_values_videos": torch.cat(shown), "video_grid_thw": grid}
            named |= {} if self.splits else {"second_per_grid_ts": torch.tensor([video["seconds_apart"]])}
        return named


def prompt(family, case):
    """The tokens in the place of media; Qwen3-VL has marks between the frames of a video."""
    shown = [token for _ in case["seeds"] for token in [family.soft] * family.count]
    for number, _ in enumerate(case.get("video", {}).get("seeds", [])):
        marks = [END, START] if family.splits and number > 0 else []
        shown += marks + [family.video] * family.count
    return case["before"] + shown + case["after"]


def said(model, family, case):
    ids, gaps, first, reply = prompt(family, case), [], None, []
    for _ in range(GREEDY):
        tensor = torch.tensor([ids])
        inputs = family.inputs(case["seeds"], case.get("video"), tensor)
        with torch.no_grad():
            logits = model(input_ids=tensor, use_cache=False, **inputs).logits[0, -1]
        if first is None:
            first = logits[:8].tolist()
        best = torch.topk(logits, 2).values
        gaps.append(float(best[0] - best[1]))
        reply.append(int(logits.argmax()))
        ids = ids + reply[-1:]
    return {**case, "greedy_ids": reply, "min_top2_gap": min(gaps), "first_logits_0_8": first}


CASES = [
    {"before": list(range(20, 32)), "seeds": [1], "after": list(range(40, 52))},
    {"before": [30, 31], "seeds": [2], "after": [200]},
    {"before": [], "seeds": [3], "after": list(range(300, 340))},
    {"before": list(range(100, 150)), "seeds": [4], "after": [33, 34, 35]},
]


# The text after the last two begins before the time of the last frame: its position follows the sides of the frame alone.
VIDEOS = [
    {"before": list(range(20, 32)), "seeds": [], "video": {"seeds": [1, 2], "seconds_apart": 0.4}, "after": [40, 41]},
    {"before": [], "seeds": [3], "video": {"seeds": [4, 5, 6], "seconds_apart": 0.4}, "after": [60]},
    {"before": [30], "seeds": [], "video": {"seeds": [7, 8, 9], "seconds_apart": 2.0}, "after": [61, 62]},
    {"before": [31], "seeds": [], "video": {"seeds": [2, 1], "seconds_apart": 5.0}, "after": list(range(70, 110))},
]


def build(root, name, class_name):
    configuration = transformers.AutoConfig.from_pretrained(root / f"tiny/tjs-{name}")
    configuration._attn_implementation = "eager"
    model = getattr(transformers, class_name)(configuration).float().eval()
    untrained(model, name.startswith("gemma"))
    fill_embeddings(model, root / f"tiny/tjs-{name}/onnx/embed_tokens.onnx")
    return model


def made(root):
    """Yields the name of a fixture, the folders it holds for, a model and its family."""
    for layout, decoder in [("tjs", "onnx/decoder_model_merged.onnx"), ("genai", "model.onnx")]:
        folder = "tiny/tjs-gemma3-vl" if layout == "tjs" else "tiny/genai-gemma3-vl-fp32"
        model = build(root, "gemma3-vl", "Gemma3ForConditionalGeneration")
        fill_gemma_vision(model, root / "tiny/tjs-gemma3-vl/onnx/vision_encoder.onnx")
        fill_decoder(model, root / folder / decoder)
        yield f"gemma3-{layout}", [folder], model, Gemma3
    classes = {"qwen2.5": "Qwen2_5_VLForConditionalGeneration", "qwen3": "Qwen3VLForConditionalGeneration"}
    for name, class_name in classes.items():
        model = build(root, f"{name}-vl", class_name)
        fill_qwen_vision(model, root / f"tiny/tjs-{name}-vl/onnx/vision_encoder.onnx")
        fill_decoder(model, root / f"tiny/tjs-{name}-vl/onnx/decoder_model_merged.onnx")
        if name == "qwen3":
            model.model.language_model._deepstack_process = lambda states, *_: states
        folders = [f"tiny/tjs-{name}-vl", f"tiny/genai-{name}-vl-fp32"]
        splits = name == "qwen3"
        yield name, folders, model, Qwen(1536 if splits else 1176, splits)


def frames(count):
    """Images of 84 x 56 pixels, each of another colour and another gradient."""
    rows, columns = numpy.mgrid[0:56, 0:84]
    shade = lambda frame: numpy.stack([rows * 4, columns * 3, (rows + columns) * frame], axis=-1) % 256
    return [shade(frame + 1).astype(numpy.uint8) for frame in range(count)]


def data_uri(frame):
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "png")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def processed(shown, family):
    """The output of the model's processor for frames, 24 a second."""
    sizes = {"shortest_edge": 4096, "longest_edge": 25165824}
    if not family.splits:
        sizes = {"shortest_edge": 3136, "longest_edge": 12845056}
    make = transformers.Qwen3VLVideoProcessor if family.splits else transformers.Qwen2VLVideoProcessor
    video = torch.from_numpy(numpy.stack(shown)).permute(0, 3, 1, 2)
    return make(size=sizes)(videos=[video], do_sample_frames=False, return_tensors="pt")


def stretches(grid, family):
    """The text in the place of a video.

    For Qwen3-VL it replaces the template's marks too, as in the processor of transformers 4.57, which came with the model;
    5.23 leaves the template's marks around those of the frames."""
    times, rows, columns = grid.tolist()
    pads = "<|video_pad|>" * (rows * columns // 4)
    if not family.splits:
        return pads * times
    shown = lambda group: f"<{(2 * group + 0.5) / 24:.1f} seconds><|vision_start|>{pads}<|vision_end|>"
    return "".join(map(shown, range(times)))


def with_videos(root, name, model, family):
    """A document, the prompt before and after the video, and the reply."""
    folder = root / f"tiny/tjs-{name}-vl"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    conversations = []
    for count, question in [(4, "What happens here?"), (3, "And the end?"), (2, "Hm?")]:
        shown = frames(count)
        item = [{"video": [data_uri(frame) for frame in shown]}, {"text": question}]
        # The processor has the last frame of an odd number twice.
        made = processed(shown, family)
        grid = made["video_grid_thw"]
        said = stretches(grid[0], family)
        before, after = "<|im_start|>user\n", f"{question}<|im_end|>\n<|im_start|>assistant\n"
        if not family.splits:
            before, after = before + "<|vision_start|>", "<|vision_end|>" + after
        encode = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
        ids, reply, gaps = encode(before + said + after), [], []
        start, positions = len(encode(before)), len(ids) - len(encode(before)) - len(encode(after))
        prompt = list(ids)
        for _ in range(GREEDY):
            tensor = torch.tensor([ids])
            types = 2 * (tensor == family.video).int()
            named = {"pixel_values_videos": made["pixel_values_videos"], "video_grid_thw": grid}
            named |= {} if family.splits else {"second_per_grid_ts": torch.tensor([2 / 24])}
            with torch.no_grad():
                logits = model(input_ids=tensor, use_cache=False, mm_token_type_ids=types, **named).logits[0, -1]
            best = torch.topk(logits, 2).values
            gaps.append(float(best[0] - best[1]))
            reply.append(int(logits.argmax()))
            ids = ids + reply[-1:]
        conversations.append({
            "document": [{"role": "user", "content": item}],
            "before": prompt[:start], "after": prompt[start + positions:], "positions": positions,
            "greedy_ids": reply, "min_top2_gap": min(gaps),
        })
        print(name, positions, reply, min(gaps))
    return {"folders": [f"tiny/tjs-{name}-vl", f"tiny/genai-{name}-vl-fp32"], "conversations": conversations}


def main():
    root, into, videos_into = map(pathlib.Path, sys.argv[1:])
    for name, folders, model, family in made(root):
        cases = [said(model, family, case) for case in CASES + (VIDEOS if family.video else [])]
        version = f"transformers {transformers.__version__}"
        text = json.dumps({"made_by": version, "folders": folders, "cases": cases})
        (into / f"{name}.json").write_text(text + "\n")
        if family.video:
            text = json.dumps({"made_by": version} | with_videos(root, name, model, family))
            (videos_into / f"{name}.json").write_text(text + "\n")
        print(name, [(case["greedy_ids"], case["min_top2_gap"]) for case in cases])


if __name__ == "__main__":
    main()
