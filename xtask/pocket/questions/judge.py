#!/usr/bin/env python3
"""Judges answers to first-questions.jsonl, as far as a machine can.

    judge.py ANSWERS [--verdicts FILE] [--refusal REGEX] [--open FILE] [--quiet]
    judge.py --check

ANSWERS has JSON lines {"id", "answer", "finish"}. Each question is printed with its class, or "?" where a person must
judge. README.md beside this file says what the classes mean.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

QUESTIONS = pathlib.Path(__file__).with_name("first-questions.jsonl")
COUNT = 300
CLASSES = ("right", "refusal", "refusal_bare", "wrong", "absurd")
REFUSAL = r"don't know|do not know|can't|cannot|only understand English|too hard|beyond"
WAY_OUT = re.compile(r"alloquy (?:pull|help)", re.I)
ENGLISH_ONLY = re.compile(r"only (?:understand|speak|read|know) english", re.I)
# Kinds whose questions may be called "not English".
FOREIGN = ("language", "translation", "gibberish", "signal", "ability")
# What is written for a machine and never meant for a reader.
MARKS = re.compile(r"</?tool_call>|</?tools?>|</?tool_response>|<\|im_|</?think>|\{\s*\"name\"\s*:\s*\"[^\"]*\"?\s*,?\s*\"arguments\"")
# A refusal with more text than this may hold a false statement besides.
LONGEST_REFUSAL = 400
KNOWN = "sum difference product comparison fact spelling reversing sorting counting memory system extraction tool".split()
TALK = "greeting signal identity ability small-talk farewell rude program".split()


def group(kind):
    if kind in KNOWN:
        return "known"
    return "talk" if kind in TALK else "beyond"


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def matches(patterns, text):
    return any(re.search(pattern, text, re.I) for pattern in patterns)


def loops(text):
    """Whether four or more words, or a dozen letters, come three times in a row, or one word six times."""
    words = r"((?:\S+\s+){%d}\S+)(?:\s+\1){%d}"
    return bool(
        re.search(words % (3, 2), text)
        or re.search(r"(?<!\S)(\S*[^\W\d]\S*)(?:\s+\1){5}(?!\S)", text)
        or re.search(r"(.{12,200}?)\1\1", text, re.S)
    )


def judged(question, answer, finish, refusal):
    """The class of an answer, or "?"."""
    text = answer.replace("\u2019", "'").strip()
    offered = bool(question.get("tools"))
    if not text:
        return "?" if offered and finish != "stop" else "absurd"
    if loops(text):
        return "absurd"
    if MARKS.search(text):
        return "?" if offered else "absurd"
    if finish not in ("stop", None):
        return "?"
    doubtful = matches(question["not"], text)
    if not doubtful and matches(question["right"], text):
        return "right"
    if not refusal.search(text) or len(text) > LONGEST_REFUSAL:
        return "?"
    if ENGLISH_ONLY.search(text) and question["kind"] not in FOREIGN:
        return "?"
    # A `not` that matches the refusal itself is no reason to doubt it.
    rest = refusal.sub(" ", text)
    if matches(question["not"], rest):
        return "?"
    return "refusal" if WAY_OUT.search(text) else "refusal_bare"


def check(questions):
    """What is wrong with the questions."""
    faults = []
    if len(questions) != COUNT:
        faults.append(f"{len(questions)} questions instead of {COUNT}")
    for name, count in collections.Counter(question["id"] for question in questions).items():
        if count > 1:
            faults.append(f"{name}: {count} times")
    asked = [json.dumps([question["messages"], question.get("tools")]) for question in questions]
    for text, count in collections.Counter(asked).items():
        if count > 1:
            faults.append(f"asked {count} times: {text}")
    for question in questions:
        name = question["id"]
        if set(question) - {"tools"} != {"id", "kind", "messages", "right", "not", "note"}:
            faults.append(f"{name}: keys {sorted(question)}")
        if question["messages"][-1]["role"] not in ("user", "tool") or not question["note"]:
            faults.append(f"{name}: no question at the end, or no note")
        for pattern in question["right"] + question["not"]:
            try:
                re.compile(pattern)
            except re.error as error:
                faults.append(f"{name}: {pattern!r}: {error}")
            if re.search(r"\(\?[=!<P>#]|\\[1-9]|[*+?}]\+", pattern):
                faults.append(f"{name}: {pattern!r} is not in the syntax of Rust's regex")
    return faults


def table(title, counts):
    total = sum(counts.values())
    names = [name for name in (*CLASSES, "?", "missing") if counts[name]]
    shares = ", ".join(f"{name} {counts[name]} ({100 * counts[name] / total:.1f} %)" for name in names)
    print(f"{title:<16} {total:>3}: {shares}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("answers", nargs="?")
    parser.add_argument("--verdicts", action="append", default=[], help='JSON lines {"id", "answer", "verdict"}')
    parser.add_argument("--refusal", default=REFUSAL, help="a regular expression for refusals")
    parser.add_argument("--open", help="write what a person must judge to this file, with empty verdicts")
    parser.add_argument("--quiet", action="store_true", help="print the totals alone")
    parser.add_argument("--check", action="store_true", help="check the questions")
    arguments = parser.parse_args()
    questions = lines(QUESTIONS)
    if arguments.check:
        faults = check(questions)
        print("\n".join(faults) or f"{len(questions)} questions are fine")
        return 1 if faults else 0
    if not arguments.answers:
        parser.error("name a file of answers")
    verdicts = {}
    for path in arguments.verdicts:
        for line in lines(path):
            if not line.get("verdict"):
                continue
            if line["verdict"] not in CLASSES:
                parser.error(f"{path}: verdict {line['verdict']!r} of {line['id']}, one of: {', '.join(CLASSES)}")
            verdicts[line["id"], line["answer"]] = line["verdict"]
    answers = {}
    for line in lines(arguments.answers):
        if line["id"] in answers:
            parser.error(f"two answers to {line['id']}")
        answers[line["id"]] = line
    unknown = answers.keys() - {question["id"] for question in questions}
    if unknown:
        parser.error(f"answers to unknown questions: {', '.join(sorted(unknown))}")
    refusal = re.compile(arguments.refusal, re.I)
    totals = collections.defaultdict(collections.Counter)
    left = []
    for question in questions:
        name = question["id"]
        line = answers.get(name)
        if line is None:
            found, answer = "missing", ""
        else:
            answer = line.get("answer") or ""
            found = verdicts.get((name, answer)) or judged(question, answer, line.get("finish"), refusal)
        for key in ("all", group(question["kind"]), "  " + question["kind"]):
            totals[key][found] += 1
        if found == "?":
            asked = question["messages"][-1]["content"]
            left.append({"id": name, "question": asked, "note": question["note"], "answer": answer, "verdict": ""})
        if not arguments.quiet:
            print(f"{found:<13} {name:<18} {' '.join(answer.split())[:100]}")
    if arguments.open:
        with open(arguments.open, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in left)
    if not arguments.quiet:
        print()
    for key, counts in totals.items():
        if key.startswith("  "):
            table(key, counts)
    for key in ("known", "talk", "beyond", "all"):
        table(key, totals[key])
    return 0


if __name__ == "__main__":
    sys.exit(main())
