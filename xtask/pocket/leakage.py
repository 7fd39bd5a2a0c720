"""Counts how many held-out questions training has word for word: `leakage.py evaluation.jsonl [portion...]`."""

import json
import sys
from collections import Counter
from pathlib import Path

from shards import CHATS, mixture
from world import Draw, chat


def said(messages):
    """What the user says."""
    return [message["content"] for message in messages if message["role"] == "user"]


def trained_on(portions):
    """All that users say in these portions of the corpus."""
    draws = ((Draw(f"shard {number}"), mixture(number)) for number in portions)
    return {text for draw, kinds in draws for _ in range(CHATS) for text in said(chat(draw, kinds).messages)}


def main(path, *portions):
    """Prints the counts of each skill, of which there should be next to none."""
    seen, found, all_ = trained_on(map(int, portions or range(12))), Counter(), Counter()
    for line in Path(path).read_text().splitlines():
        dialogue = json.loads(line)
        all_[dialogue["skill"]] += 1
        found[dialogue["skill"]] += said(dialogue["request"]["messages"])[-1] in seen
    for skill, count in all_.items():
        print(f"{skill}: {found[skill]} of {count}")


if __name__ == "__main__":
    main(*sys.argv[1:])
