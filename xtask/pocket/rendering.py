"""The chat template as Hugging Face renders it, and where in the text the assistant speaks."""

import json
import re
from functools import cache
from pathlib import Path

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

TEMPLATE = Path(__file__).parent / "template" / "chat_template.jinja"
OPENING = "<|im_start|>assistant\n"
CLOSING = "<|im_end|>"
NOT_THINKING = "<think>\n\n</think>\n\n"


def as_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    """JSON without the HTML escapes of Jinja's own filter, as transformers replaces it."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@cache
def template():
    """The compiled template, with the settings that transformers uses."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = as_json
    return environment.from_string(TEMPLATE.read_text())


def render(messages, tools=None, prompt=False, **variables):
    """The text of a chat; with `prompt`, up to where the assistant is to go on."""
    return template().render(messages=messages, tools=tools, add_generation_prompt=prompt, **variables)


def spoken(text, thinking):
    """Splits a whole chat into `(text, learnt)`: what the assistant says, up to the end of its turn, is learnt.

    Blocks of thoughts are learnt in the last question alone, and only where thinking is on: elsewhere the
    template writes them. A model that learnt the empty ones would learn not to think.
    """
    pieces = re.split(f"({re.escape(OPENING)}.*?{re.escape(CLOSING)})", text, flags=re.DOTALL)
    last_question = max(i for i, piece in enumerate(pieces) if is_question(piece))
    for index, piece in enumerate(pieces):
        if not piece.startswith(OPENING):
            yield piece, False
            continue
        given = OPENING if thinking and index > last_question else OPENING + NOT_THINKING
        assert piece.startswith(given), piece
        yield given, False
        yield piece[len(given) :], True


def is_question(piece):
    """Whether a piece between two replies holds a turn of the user that is no tool's result."""
    return "<|im_start|>user\n" in piece.replace("<|im_start|>user\n<tool_response>", "") 
