"""Compares this crate with Jinja2 on the same templates and conversations, one after the other on the same machine.

Needs `jinja2`, and the shared folder of cases in ALLOQUY_SHARED:

    python3 -m venv target/venv && target/venv/bin/pip install jinja2
    target/venv/bin/python templates/benches/against_jinja2.py
"""

import json
import os
import pathlib
import subprocess
import time
from datetime import datetime

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("ALLOQUY_SHARED", ROOT.parent / "shared"))
CASES = SHARED / "cases" / "templates"


class Generation(jinja2.ext.Extension):
    """Lets `{% generation %}` through."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def environment():
    """An environment as chat templates know it."""
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
    made.globals["strftime_now"] = lambda form: datetime(2026, 3, 4, 15, 6, 7).strftime(form)
    return made


def rate(work, seconds=1.0):
    """How often `work` runs in a second: the best of five rounds."""
    best = 0.0
    for _ in range(5):
        count, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < seconds / 5:
            work()
            count += 1
        best = max(best, count / passed)
    return best


def ours(kind, slug):
    """What the benchmark of this crate measured, in runs a second."""
    # Names longer than criterion's limit for folders are cut there.
    folder = ROOT / "target" / "criterion" / f"{kind}_{slug}"[:64] / "new" / "estimates.json"
    nanoseconds = json.loads(folder.read_text())["median"]["point_estimate"]
    return 1e9 / nanoseconds


def main():
    """Runs both and prints a table."""
    subprocess.run(["cargo", "bench", "--package", "alloquy-templates", "--bench", "render"], cwd=ROOT, check=True)
    index = {entry["slug"]: entry for entry in json.loads((CASES / "index.json").read_text())["templates"]}
    golden = json.loads((CASES / "golden.json").read_text())
    conversations = {conversation["id"]: conversation for conversation in golden["conversations"]}
    inputs = json.loads((ROOT / "templates" / "benches" / "inputs.json").read_text())
    made = environment()
    print(f"{'template':50} {'ours/s':>9} {'jinja2/s':>9} {'ratio':>6} {'compile':>9} {'jinja2':>9}")
    for given in inputs:
        slug, conversation = given["template"], conversations[given["conversation"]]
        source = (CASES / index[slug]["file"]).read_text()
        template = made.from_string(source)
        variables = {
            "messages": conversation["messages"],
            "tools": conversation.get("tools"),
            "documents": None,
            "add_generation_prompt": True,
            "bos_token": index[slug]["bos_token"] or "<s>",
            "eos_token": index[slug]["eos_token"] or "</s>",
        }
        theirs = rate(lambda: template.render(**variables))
        compiles = rate(lambda: made.from_string(source), 0.5)
        mine = ours("render", slug)
        print(
            f"{slug:50} {mine:9.0f} {theirs:9.0f} {mine / theirs:6.1f}"
            f" {1e3 / ours('compile', slug):6.2f} ms {1e3 / compiles:6.2f} ms"
        )


if __name__ == "__main__":
    main()
