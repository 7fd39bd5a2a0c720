"""Texts that are pasted or piped in: code, diffs, logs, traces, tables, prose, with a question or without. They are too much for the model.

Code and prose are pieces of this repository's own files; the rest is made up here.
"""

import json
from functools import cache
from pathlib import Path

from . import names
from .dialogue import ask
from .outside import topic
from .refusals import CANNOT

ROOT = Path(__file__).parents[3]
FOLDERS = ["core/src", "inference/src", "engine/src", "cli/src", "xtask", "docs", "alloquy/examples", "media/src", "storage/src"]
ENDINGS = {".rs", ".py", ".md", ".toml", ".json", ".jinja", ".sh"}
# Listings, tables of facts, and the questions by which the model is judged.
LEFT_OUT = {"api", "tables", "questions"}
QUESTIONS = [
    "[What does this|what does this|What does it|what does the code|What does this code|what does this function] [change|do|mean|say|print|return]?", "[Explain|explain|Please explain|Summarise|summarise|Summarize|summarize|Please summarise|Review|review|Describe|describe|Translate|Improve|Fix|fix|Debug|Refactor|Shorten|Rewrite|Proofread|Check|Analyse|analyze|Format|Comment] [this|this code|this text|the following|the following text|the following paragraph|this diff|this log|this file|this article|it|this function|this email]:", "[Explain|Summarise|summarize|Review|Describe|fix|explain|tl;dr|TLDR|summary|Summary] [this|it|this please|]",
    "[Write|write] a [commit message|summary|test|title|headline|docstring|changelog entry|reply|review][ for this|]", "[What is|what is|What's|whats] [wrong|wrong here|wrong with this|this|the error|the problem|the bug|this about|the main point|new here]?", "[Why does this|why does it|Why does this code] [fail|crash|not compile|not work|not run]?", "[Is|is] [this|this code|this text] [correct|right|good|safe|positive or negative|spam]?", "[How many|how many] [lines|words|functions|errors|people|files] [are|are there] [here|in this|in this text]?", "[Find|find] [the bug|the error|the mistake|all names|the important parts|the date|typos][ in this| here|]",
    "[Translate|translate] [this|the following] [to|into] [French|German|Spanish|Rust|Python]", "[Summarise|summarize] [this|the text] in [one|two|three] [sentence|sentences|words|bullet points]", "[Who|what|Where|When] is [this|it] [about|from]?", "[Can you|can you|Could you] [explain|summarise|read|check|fix|review|understand] this?", "[Extract|extract|list] the [names|dates|numbers|key points|errors|functions]", "[Give me|give me] [the key points|a summary|feedback|the first line|the main idea]",
]
REMARKS = "[was|is|were|has been|will be] [built|made|found|used|seen|known|sold|called|broken|painted|moved|written|closed|opened] [in|by|for|near|with|after|before|at|without] [the|a|this|every|our] {a} [and|but|while|because|so|which|where|when|after|although] [the|a|his|her|their|some] {b} [{c}|very {c}|not {c}|{c} again]"
SENTENCES = [
    "[The|A|Every|Our|This|That|His|Her] {a} " + REMARKS + ".", "[In|After|Before|Since|During] [{year}|the summer|the last years|a long time|the morning|the war], [the|a|many] {a} [of {t}|in {t}|near the {b}|] [began|started|came|went|changed|grew|fell|moved] [to the {c}|with the {b}|quickly|slowly|again|at last].", "{p} [said|thought|wrote|explained|asked|knew|believed] that [the|a] {a} [is|was|should be|can be] [better|worse|larger|older|safer|faster|different] than [the|a] {b}.",
    "[It|This|That] [is|was] [a|the] [language|project|story|idea|place|tool|system|question] [focused on|known for|about|made of|full of] {a}, {b} and {c}.", "[We|They|People|Most people|Some] [use|need|want|like|have|see|make|buy|build] [the |a |many |]{a} [to|and] [{b}|find {b}|make {b}|help {p}|learn {b}|go to {t}], [because|so that|even if] [it|they|this] [is|are|was] [cheap|good|new|useful|rare|needed|loved|easy].", "Dear {p}, [thank you for|I write about|please send|I have read] [the|your] {a} [and|but] [the|your] {b}.", "[However|Therefore|Moreover|Finally|First|Then|Also|Yet], [the|a] {a} [may|can|must|should|does not|will] [be|become|remain|need|help] [a|the] {b}[ of the {c}| in {t}|].",
]


@cache
def files():
    """The files of this repository that pieces are taken from."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in ENDINGS]
    return [path for path in found if path.stat().st_size > 800 and not LEFT_OUT.intersection(path.parts)]


@cache
def lines_of(path):
    """The lines of a file."""
    return path.read_text(errors="replace").splitlines()


def piece(draw):
    """Some lines of a file."""
    lines = lines_of(draw.one(files()))
    start, count = draw.number(0, max(0, len(lines) - 5)), draw.any([2, 4, 6, 10, 15, 25, 40, 60])
    return [line[:200] for line in lines[start : start + count]]


def code(draw):
    """Lines of a file, sometimes fenced."""
    text = "\n".join(piece(draw))
    return f"```{draw.any(['', 'rust', 'python', 'sh', 'js'])}\n{text}\n```" if draw.chance(0.25) else text


def difference(draw):
    """A diff as git prints it."""
    path = draw.one(files()).relative_to(ROOT)
    marks = [draw.any([" ", " ", "+", "-"]) for _ in range(60)]
    body = "\n".join(mark + line for mark, line in zip(marks, piece(draw)))
    start = draw.number(1, 300)
    head = f"diff --git a/{path} b/{path}\nindex {draw.random.getrandbits(28):07x}..{draw.random.getrandbits(28):07x} 100644\n--- a/{path}\n+++ b/{path}\n"
    return (head if draw.chance(0.8) else "") + f"@@ -{start},{draw.number(3, 20)} +{start},{draw.number(3, 20)} @@\n{body}"


def log(draw):
    """Lines of a log."""
    def line():
        time = f"20{draw.number(20, 29)}-{draw.number(1, 12):02}-{draw.number(1, 28):02}{draw.any(['T', ' '])}{draw.number(0, 23):02}:{draw.number(0, 59):02}:{draw.number(0, 59):02}"
        what = f"{draw.any(['GET', 'POST', 'connection', 'user', 'cannot open', 'started', 'failed:', 'request', 'loaded', 'timeout'])} /{names.word(draw)}/{names.word(draw)} {draw.number(1, 999)}"
        return f"{draw.any(['', '[', time + ' '])}{draw.any(['INFO', 'WARN', 'ERROR', 'DEBUG', 'info:', 'error:'])} {names.word(draw)}: {what}"
    return "\n".join(line() for _ in range(draw.number(2, 15)))


def trace(draw):
    """A stack trace."""
    kind = draw.any(["python", "rust", "java"])
    word = [names.word(draw) for _ in range(12)]
    count = draw.number(2, 9)
    if kind == "python":
        frames = "\n".join(f'  File "/{word[i]}/{word[i + 1]}.py", line {draw.number(1, 900)}, in {word[i + 2]}\n    {word[i + 1]}({word[i]}, {word[i + 2]})' for i in range(count))
        return f"Traceback (most recent call last):\n{frames}\n{draw.any(['ValueError', 'KeyError', 'TypeError', 'IndexError', 'ModuleNotFoundError'])}: {draw.any([repr(word[0]), 'invalid ' + word[0], 'no module named ' + word[1]])}"
    if kind == "rust":
        return f"thread 'main' panicked at src/{word[0]}.rs:{draw.number(1, 500)}:{draw.number(1, 40)}:\ncalled `Option::unwrap()` on a `None` value\nnote: run with `RUST_BACKTRACE=1`" if draw.chance(0.5) else f"error[E0{draw.number(100, 599)}]: cannot find value `{word[0]}` in this scope\n --> src/{word[1]}.rs:{draw.number(1, 300)}:{draw.number(1, 40)}\n  |\n{draw.number(1, 300)} |     let {word[2]} = {word[0]};\n  |         ^^^^ not found"
    frames = "\n".join(f"\tat com.{word[i]}.{word[i + 1].capitalize()}.{word[i + 2]}({word[i + 1].capitalize()}.java:{draw.number(1, 400)})" for i in range(count))
    return f'Exception in thread "main" java.lang.{draw.any(["NullPointerException", "RuntimeException", "IllegalStateException"])}: {word[0]}\n{frames}'


def data(draw):
    """JSON, a table with commas, a configuration, a page."""
    words = [names.word(draw) for _ in range(14)]
    rows = [{"name": names.person(draw), words[i]: draw.number(1, 999), "arguments": {words[i + 1]: words[i + 2]}} for i in range(draw.number(1, 5))]
    kind = draw.random.random()
    if kind < 0.4:
        return json.dumps(draw.any([rows, rows[0], {"name": words[0], "arguments": rows[0]}, {"tools": rows}]), indent=draw.any([None, 2, 4]))
    if kind < 0.6:
        sign = draw.any([",", ";", "\t", " | "])
        return "\n".join([sign.join(words[:4])] + [sign.join([names.person(draw), str(draw.number(1, 999)), names.word(draw), names.town(draw)]) for _ in range(draw.number(1, 10))])
    if kind < 0.8:
        return "\n".join(f"{word}{draw.any([': ', ' = ', '='])}{draw.any([str(draw.number(1, 99)), names.word(draw), 'true'])}" for word in words[: draw.number(2, 14)])
    return "<html>\n" + "\n".join(f"<{tag}>{names.word(draw)} {names.word(draw)}</{tag}>" for tag in draw.random.choices(["p", "div", "li", "h1", "span", "td"], k=draw.number(1, 12))) + "\n</html>"


def sentences(draw, low, high):
    """Prose that means nothing."""
    def one():
        fill = {"a": names.word(draw), "b": names.word(draw), "c": names.word(draw), "t": names.town(draw), "p": names.person(draw), "year": draw.number(1200, 2030)}
        if draw.chance(0.4):
            fill["a"] = topic(draw)
        return draw.expand(draw.any(SENTENCES), **fill)
    return " ".join(one() for _ in range(draw.number(low, high)))


def prose(draw):
    """A paragraph, or a few."""
    return draw.any([" ", "\n", "\n\n"]).join(sentences(draw, 1, 4) for _ in range(draw.number(1, 4)))


def shortened(draw, text):
    """At most so long; digits, braces and words of other kinds cost a token for every few letters."""
    return text[: draw.any([300, 600, 1000, 1500, 2500])].strip()


def episode(draw):
    """A text with a question before it, after it, or without one."""
    text = shortened(draw, draw.any([code, code, difference, difference, log, trace, data, prose, prose, prose])(draw))
    kind = draw.random.random()
    question = draw.say(QUESTIONS)
    if kind < 0.6:
        text = question + draw.any(["\n\n", "\n\n", "\n", " ", "\n\n"]) + text
    elif kind < 0.75:
        text = text + draw.any(["\n\n", "\n", " "]) + question
    elif kind < 0.82:
        text = question
    return ask("pasted", text, CANNOT)
