"""Seeded choices, and which of them training never sees. Knows no skill.

Everything that is held out is so by a hash of its text, so that a longer table leaves older choices where they were.
"""

import random
import re
import zlib

TRAINING, EVALUATION = "training", "evaluation"
# So many of a thousand are held out.
OUT = 125
# A list of templates without a sentence for one side is a mistake in the list.
TRIES = 2000


def share(text):
    """A number below 1000 that depends on the text alone."""
    return zlib.crc32(text.encode()) % 1000


def held_out(items):
    """About an eighth of the items, at least one; of fewer than six, none: those are shared vocabulary.

    Whether one is held out depends on it alone, so a longer list never holds out what was trained on before.
    """
    if len(items) < 6:
        return []
    low = [item for item in items if share(str(item)) < OUT]
    return low or [min(items, key=lambda item: share(str(item)))]


class Draw:
    """A stream of choices on one side of the split."""

    def __init__(self, seed, side=TRAINING):
        self.random = random.Random(seed)
        self.side = side
        self.sides = {}

    def any(self, items):
        """Any item: replies, and words that everyone has to know."""
        return items[int(self.random.random() * len(items))]

    def one(self, items):
        """An item of this side: what people say, and what they say it of."""
        return self.any(self.of_this_side(items))

    def some(self, items, count):
        """Different items of this side, as far as there are any."""
        mine = self.of_this_side(items)
        return self.random.sample(mine, min(count, len(mine)))

    def of_this_side(self, items):
        """The items of this side; lists are told apart by identity, as they are tables that stay."""
        key = id(items)
        if key not in self.sides:
            out = held_out(items)
            mine = [item for item in items if (item in out) == (self.side == EVALUATION)]
            self.sides[key] = (items, mine if out else items)
        return self.sides[key][1]

    def is_mine(self, text):
        """Whether something made up, not listed, is of this side: one in ten is held out."""
        return (share(text) < 100) == (self.side == EVALUATION)

    def made(self, make):
        """Makes up things until one is of this side."""
        while True:
            thing = make()
            if self.is_mine(str(thing)):
                return thing

    def chance(self, probability):
        """True so often."""
        return self.random.random() < probability

    def number(self, low, high):
        """A whole number, both ends included."""
        return self.random.randint(low, high)

    def shuffled(self, items):
        """The items in some order."""
        return self.random.sample(items, len(items))

    def say(self, templates, **fields):
        """A sentence of this side: one of the templates with its alternatives chosen, then its fields filled in.

        What is held out is the sentence with its fields still open, so evaluation asks in sentences that were never
        seen, but of words that were.
        """
        for _ in range(TRIES):
            pattern = self.chosen(self.any(templates))
            if (share(pattern) < OUT) == (self.side == EVALUATION):
                return filled(pattern, fields)
        raise ValueError(f"no sentence of these is for {self.side}: {templates}")

    def reply(self, templates, **fields):
        """One of the templates of either side: a reply is learnt, so there is none that was never seen."""
        return self.expand(self.any(templates), **fields)

    def expand(self, template, **fields):
        """Chooses among the alternatives, then fills in the fields."""
        return filled(self.chosen(template), fields)

    def chosen(self, template):
        """Chooses in `[one|other|]`, innermost first."""
        while "[" in template:
            template = re.sub(r"\[([^\[\]]*)\]", lambda found: self.any(found[1].split("|")), template, count=1)
        return template


def filled(pattern, fields):
    """Puts values where `{field}` stands."""
    for name, value in fields.items():
        pattern = pattern.replace("{" + name + "}", str(value))
    return pattern
