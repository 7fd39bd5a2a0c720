"""Counts how many held-out questions training has word for word: `leakage.py evaluation.jsonl [portions]`."""

import json
import sys
from collections import Counter
from pathlib import Path

from shards import CHATS
from world import Draw, chat


def said(messages):
    """What the user says."""
    return [message["content"] for message in messages if message["role"] == "user"]


def trained_on(portions):
    """All that users say in the first portions of the corpus."""
    draws = (Draw(f"shard {number}") for number in range(portions))
    return {text for draw in draws for _ in range(CHATS) for text in said(chat(draw).messages)}


def main(path, portions="12"):
    """Prints the counts of each skill, of which there should be next to none."""
    seen, found, all_ = trained_on(int(portions)), Counter(), Counter()
    for line in Path(path).read_text().splitlines():
        dialogue = json.loads(line)
        all_[dialogue["skill"]] += 1
        found[dialogue["skill"]] += said(dialogue["request"]["messages"])[-1] in seen
    for skill, count in all_.items():
        print(f"{skill}: {found[skill]} of {count}")


if __name__ == "__main__":
    main(*sys.argv[1:])
