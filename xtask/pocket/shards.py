"""Chats as tokens, in numbered portions: a portion is made from its number, so training can go on anywhere."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
from tokenizers import Tokenizer

from rendering import render, spoken
from world import TRAINING, Draw, chat
from world.chat import EVERYTHING, LESSONS, NEWCOMERS, ROUGH, TOOL_DRILLS, TOOL_LESSONS

CHATS = 2000
LONGEST = 1280
# From this portion on, what is hard comes up more often.
HARDER_FROM = 289
# And from this one on, tools do.
TOOLS_FROM = 384
# And from this one on, those that are hard to call.
DRILLS_FROM = 440
# And from this one on, what newcomers say.
NEWCOMERS_FROM = 700
# And from this one on, more of it in small letters.
ROUGH_FROM = 714


def encoded(tokenizer, made):
    """The ids of a chat, and which of them the assistant says."""
    text = render(made.messages, made.tools, enable_thinking=made.thinking)
    pieces = list(spoken(text, made.thinking))
    encodings = tokenizer.encode_batch_fast([piece for piece, _ in pieces], add_special_tokens=False)
    ids = [encoding.ids for encoding in encodings]
    learnt = [[mark] * len(part) for (_, mark), part in zip(pieces, ids)]
    return np.concatenate(ids).astype(np.int16), np.concatenate(learnt).astype(bool)


def mixture(number):
    """How often each kind of chat comes up in a portion that is trained on."""
    mixtures = [(ROUGH_FROM, ROUGH), (NEWCOMERS_FROM, NEWCOMERS), (DRILLS_FROM, TOOL_DRILLS), (TOOLS_FROM, TOOL_LESSONS), (HARDER_FROM, LESSONS), (0, EVERYTHING)]
    return next(kinds for first, kinds in mixtures if number >= first)


def shard(vocabulary, number, side=TRAINING, chats=CHATS, kinds=EVERYTHING):
    """The chats of one portion, which is a number or a name: a list of `(ids, learnt, skill)`."""
    tokenizer = Tokenizer.from_file(str(vocabulary))
    draw = Draw(f"shard {number}", side)
    made = [chat(draw, kinds) for _ in range(chats)]
    rows = [(*encoded(tokenizer, one), one.skill) for one in made]
    return [row for row in rows if len(row[0]) <= LONGEST]


class Shards:
    """Portions one after the other; the next is made in a second process while one is trained on."""

    def __init__(self, vocabulary, first):
        self.vocabulary, self.number = vocabulary, first
        self.pool = ProcessPoolExecutor(1)
        self.ask()

    def take(self):
        """The next portion and its number."""
        rows, number = self.next.result(), self.number
        self.number += 1
        self.ask()
        return rows, number

    def ask(self):
        """Has the next portion made."""
        self.next = self.pool.submit(shard, self.vocabulary, self.number, kinds=mixture(self.number))


def batches(rows, tokens, random):
    """Rows of like lengths together, `(ids, learnt)` padded at their ends, in a random order."""
    order = sorted(range(len(rows)), key=lambda i: (len(rows[i][0]) // 8, random.random()))
    groups, group, width = [], [], 0
    for index in order:
        width = max(width, len(rows[index][0]))
        if group and width * (len(group) + 1) > tokens:
            groups.append(group)
            group, width = [], len(rows[index][0])
        group.append(index)
    groups.append(group)
    random.shuffle(groups)
    return [padded([rows[i] for i in group]) for group in groups]


def padded(rows):
    """Rows as two arrays, zeros at the ends."""
    width = max(len(row[0]) for row in rows)
    ids, learnt = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), bool)
    for place, (row, marks, *_) in enumerate(rows):
        ids[place, : len(row)], learnt[place, : len(row)] = row, marks
    return ids, learnt
