"""A quick look at each skill: loss and whole replies right when the model is told what came before. No decoding."""

from collections import defaultdict

import torch
from torch.nn import functional as F

from shards import padded, shard
from world import EVALUATION

CHATS = 600


def last_run(marks):
    """Where the last reply of each row stands among what is learnt."""
    positions = torch.arange(marks.shape[1]).expand_as(marks)
    last = torch.where(marks, positions, -1).max(1, keepdim=True).values
    gap = torch.where(~marks & (positions < last), positions, -1).max(1, keepdim=True).values
    return marks & (positions > gap)


@torch.no_grad()
def probe(model, vocabulary):
    """For each skill: how many chats, the last reply's loss a token, and the share that greedy decoding gets wholly right."""
    found = defaultdict(lambda: [0, 0.0, 0])
    rows = shard(vocabulary, "probe", EVALUATION, CHATS)
    for group in grouped(rows):
        ids, marks = (torch.from_numpy(array) for array in padded(group))
        logits = model(ids[:, :-1]).float()
        targets, last = ids[:, 1:], last_run(marks[:, 1:])
        losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
        right = (logits.argmax(-1) == targets) | ~last
        for place, row in enumerate(group):
            entry = found[row[2]]
            entry[0] += 1
            entry[1] += float(losses[place][last[place]].mean())
            entry[2] += bool(right[place].all())
    return {skill: [count, round(loss / count, 3), round(whole / count, 3)] for skill, (count, loss, whole) in sorted(found.items())}


def grouped(rows, size=16):
    """Rows of like lengths, a few at a time."""
    ordered = sorted(rows, key=lambda row: len(row[0]))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]
