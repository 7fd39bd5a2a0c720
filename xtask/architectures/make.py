"""Exports a tiny model of each architecture: `make.py OUT EXPORTER [--precisions P,…] [--only NAME,…] [--timeout SECONDS]`.

Prints a line of JSON for each architecture and precision. Each architecture has a process of its own, which may fail or take too long.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

REASON = 200


def short(error):
    """What went wrong in one line, without paths."""
    text = next(iter(str(error).strip().splitlines()), "")
    if failed := re.search(r"running (\w+) node.*Status Message: (?:.*\[ONNXRuntimeError\] : \d+ : \w+ : )?(.*)", text):
        return f"ONNX Runtime does not run {failed[1]}: {failed[2]}"[:REASON]
    text = re.sub(r"(?:[A-Za-z]:)?(?:[\\/][\w.+~-]+){2,}", lambda path: re.split(r"[\\/]", path.group())[-1], text)
    name = type(error).__name__
    return (text if name == "ValueError" and text else f"{name}: {text}".rstrip(": "))[:REASON]


def line(into, architecture, exporter, precision, **rest):
    """Prints what became of one export."""
    print(json.dumps({"architecture": architecture, "exporter": exporter, "precision": precision, **rest}), file=into, flush=True)


def one(out, kind, name, precisions):
    """Makes all exports of one architecture. What libraries print goes to the standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import torch
    import transformers

    import exporters
    import tiny

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    exporter = exporters.EXPORTERS[kind]()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "model"
        try:
            model, reply, _ = tiny.best(name)
            tiny.save(model, name, source)
        except Exception as error:
            traceback.print_exc()
            for precision in precisions:
                line(answers, name, kind, precision, made=False, reason=short(error))
            return
        for precision in precisions:
            export = out / kind / name.replace(", ", "-") / precision
            try:
                made = exported(exporter, model, source, export, precision, reply)
                line(answers, name, kind, precision, made=True, export=export.relative_to(out).as_posix(), by=exporter.name, **made)
            except Exception as error:
                traceback.print_exc()
                line(answers, name, kind, precision, made=False, reason=short(error))


def exported(exporter, model, source, export, precision, reply):
    """Makes one export with its golden."""
    import transformers

    import reference
    import tiny

    shutil.rmtree(export, ignore_errors=True)
    export.mkdir(parents=True)
    exporter.export(model, source, export, precision)
    if precision == "fp32":
        return reference.golden(export, tiny.prompt(), len(reply), reply, f"transformers {transformers.__version__}")
    return reference.golden(export, tiny.prompt(), len(reply))


def every(out, kind, names, precisions, timeout):
    """Makes the exports of all architectures, one after the other."""
    for name in names:
        call = [sys.executable, __file__, str(out), kind, "--precisions", ",".join(precisions), "--one", name]
        try:
            ended = subprocess.run(call, stdout=subprocess.PIPE, text=True, timeout=timeout, check=False)
            text, reason = ended.stdout, f"the exporter's process ended with {ended.returncode}"
        except subprocess.TimeoutExpired as stopped:
            text, reason = (stopped.stdout or b"").decode(), f"took longer than {timeout} s"
        print(text, end="", flush=True)
        done = {json.loads(made)["precision"] for made in text.splitlines()}
        for precision in precisions:
            if precision not in done:
                line(sys.stdout, name, kind, precision, made=False, reason=reason)


def main():
    """Reads the arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("exporter")
    parser.add_argument("--precisions")
    parser.add_argument("--only")
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--one")
    given = parser.parse_args()
    # Read when the library starts: nothing of a benchmark is sent to anyone.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    import exporters

    exporter = exporters.EXPORTERS[given.exporter]
    wanted = given.precisions.split(",") if given.precisions else exporter.precisions
    precisions = [precision for precision in exporter.precisions if precision in wanted]
    if given.one:
        one(given.out.resolve(), given.exporter, given.one, precisions)
        return
    names = given.only.split(";") if given.only else exporter().architectures()
    every(given.out.resolve(), given.exporter, names, precisions, given.timeout)


if __name__ == "__main__":
    main()
