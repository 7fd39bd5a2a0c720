"""The exporters: which architectures each knows, and how it exports one."""

import copy
import importlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path


class Genai:
    """The model builder of ONNX Runtime GenAI."""

    precisions = ("fp32", "fp16", "int8", "int4")

    def __init__(self):
        import onnxruntime_genai

        self.name = f"onnxruntime-genai {onnxruntime_genai.__version__}"
        self.folder = Path(onnxruntime_genai.__file__).parent / "models"

    def architectures(self):
        """What the builder compares an architecture with, in its own order."""
        named = re.findall(r'config\.architectures\[0\] == "(\w+)"', (self.folder / "builder.py").read_text())
        known = list(dict.fromkeys(named))
        # The builder has two classes for this one, by how positions are scaled.
        return [*known, "Phi3ForCausalLM, longrope"] if "Phi3ForCausalLM" in known else known

    def export(self, model, source, out, precision):
        """Exports a saved model."""
        del model
        sys.path.insert(0, str(self.folder))
        builder = importlib.import_module("builder")
        repair(importlib.import_module("builders"))
        cache = tempfile.mkdtemp()
        options = builder.parse_extra_options(None, str(source), str(out), precision, "cpu", cache, [])
        builder.create_model(None, str(source), str(out), precision, "cpu", cache, **options)
        shutil.copy(source / "config.json", out)


def repair(builders):
    """Two repairs, without which the builder 0.18 cannot read what transformers 5 writes of Gemma 3 and SmolLM3."""
    gemma, smollm, base = builders.gemma, builders.smollm, builders.base
    gemma3_init = gemma.Gemma3Model.__init__

    def init(self, config, *rest, **named):
        if type(self) is gemma.Gemma3Model:
            flatten(config)
        gemma3_init(self, config, *rest, **named)

    def rotated(self, layer_id, **named):
        # A layer without rotation needs no node for it.
        return base.Model.make_attention_qk_rope(self, layer_id, **named) if self.no_rope_layers[layer_id] else ("", "")

    gemma.Gemma3Model.__init__ = init
    smollm.SmolLM3Model.make_attention_qk_rope = rotated


def flatten(config):
    """Writes the rotation of each kind of layer as the builder reads it."""
    for part in (config, getattr(config, "text_config", None)):
        rotation = getattr(part, "rope_parameters", None)
        if isinstance(rotation, dict) and "full_attention" in rotation:
            part.rope_theta = rotation["full_attention"]["rope_theta"]
            part.rope_local_base_freq = rotation["sliding_attention"]["rope_theta"]
            part.rope_parameters = {"rope_type": rotation["full_attention"].get("rope_type", "default"), "rope_theta": part.rope_theta}


class Optimum:
    """optimum-onnx, which traces Hugging Face's own code."""

    precisions = ("fp32", "fp16", "int8")

    def __init__(self):
        from importlib.metadata import version

        self.name = f"optimum-onnx {version('optimum-onnx')}"

    def architectures(self):
        """The class of each type of model that the exporter knows as a generator of text."""
        from optimum.exporters.tasks import TasksManager
        from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as classes

        importlib.import_module("optimum.exporters.onnx.model_configs")
        supported = TasksManager._SUPPORTED_MODEL_TYPE
        types = [kind for kind, exporters in supported.items() if "text-generation-with-past" in exporters.get("onnx", {})]
        known = [classes.get(kind.replace("-", "_")) for kind in types]
        return sorted({name for name in known if name})

    def export(self, model, source, out, precision):
        """Exports a model, then makes its weights smaller."""
        from optimum.exporters.onnx import onnx_export_from_model

        model = copy.deepcopy(model).half() if precision == "fp16" else model
        onnx_export_from_model(model, out, task="text-generation-with-past", do_validation=False)
        if precision == "int8":
            quantize(out / "model.onnx")
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(source / name, out)


def quantize(graph):
    """Replaces a graph by one whose weights have 8 bits, and whose products round what they multiply."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = graph.with_name("whole.onnx")
    os.rename(graph, whole)
    quantize_dynamic(whole, graph, weight_type=QuantType.QInt8)
    whole.unlink()


EXPORTERS = {"genai": Genai, "optimum": Optimum}
