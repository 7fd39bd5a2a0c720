"""Counting, spelling, reversing and sorting short things."""

from . import names
from .dialogue import ask

SPELL = ["[Spell|Please spell|Can you spell] [the word |]{w}[.|]", "How do you spell {w}?", "How is {w} spelled?", "[Give|Tell] me the letters of {w}.",
    "Write {w} letter by letter.", "What are the letters of {w}?", "Spell out {w}[, please|].", "Which letters make up {w}?", "Letter by letter, please: {w}",
    "How is the word {w} spelled?", "How does one spell {w}?"]
LENGTH = ["How many letters [are in|does|has] [the word |]{w}[ have|]?", "Count the letters of {w}.", "How long is the word {w}?", "[Tell me the|What is the] number of letters in {w}[.|?]",
    "{w} has how many letters?", "Of how many letters is {w} made?", "How many letters make up {w}?", "Letters in {w}?",
    "How long is {w}?", "How long is the word {w}, in letters?"]
REVERSE = ["[Reverse|Please reverse|Can you reverse] [the word |]{w}[.|]", "[Spell|Write] {w} backwards.", "What is {w} backwards?", "What is {w} in reverse?", "Turn {w} around.",
    "How do you spell {w} from the end to the start?", "Give me {w} backwards[, please|].", "Read {w} from right to left.", "Say {w} the other way round.",
    "Give me the word {w} backwards."]
COUNT_UP = ["Count from {a} to {b}[.|]", "Count up from {a} to {b}.", "[Please list|List] the numbers from {a} to {b}.", "Can you count from {a} to {b}?", "Which numbers are there from {a} to {b}?",
    "Start at {a} and count to {b}.", "Count to {b}, starting with {a}.", "Give me all numbers from {a} to {b}.", "Numbers {a} to {b}, please."]
COUNT_DOWN = ["Count down from {b} to {a}[.|]", "Count backwards from {b} to {a}.", "[Please count|Count] from {b} down to {a}.", "Can you count down from {b} to {a}?", "Start at {b} and count down to {a}.",
    "Give me a countdown from {b} to {a}.", "Go backwards from {b} to {a}.", "List the numbers from {b} down to {a}."]
HOW_MANY = ["How many [things|items|words] are in this list: {items}?", "[Count|Please count] these[ things| words|]: {items}.", "How many are these: {items}?", "How many words are there: {items}?",
    "Count the items: {items}", "What is the number of items in {items}?", "Tell me how many there are: {items}.", "{items}: how many are that?",
    "How many items are these: {items}?", "Count the items of this list: {items}.", "How many are in {items}?"]
SORT_WORDS = ["[Sort|Please sort|Can you sort] [these words|the words|]: {items}[.|]", "Put [these words|these] in [alphabetical|ABC] order: {items}.", "[Order|Arrange] these words alphabetically: {items}.",
    "Sort {items} [by the alphabet|alphabetically].", "Which order is alphabetical: {items}?", "Bring {items} into alphabetical order.", "Alphabetical order, please: {items}", "From A to Z: {items}",
    "Order these words by the alphabet: {items}.", "Arrange alphabetically: {items}."]
SORT_NUMBERS = ["[Sort|Please sort|Can you sort] [these numbers|the numbers|]: {items}[.|]", "Put [these numbers|these] in order: {items}.", "[Order|Arrange] these numbers from smallest to largest: {items}.",
    "Sort {items} in ascending order.", "Bring {items} into order.", "Smallest first, please: {items}", "From small to large: {items}", "Sort the numbers {items}.",
    "Put these numbers in the right order: {items}.", "Sort these numbers from small to large: {items}."]
LARGEST = ["Which is the [largest|biggest] of {items}?", "What is the [largest|biggest] number: {items}?", "[Find|Pick] the [largest|biggest] of these: {items}.", "Tell me the [largest|biggest]: {items}.",
    "Of {items}, which is the [largest|biggest]?", "What is the maximum of {items}?", "Name the [largest|biggest] number among {items}.", "The [largest|biggest] one, please: {items}",
    "Give me the maximum: {items}", "Tell me the maximum of these: {items}.", "Name the maximum: {items}"]
FLIP = ["[Reverse|Please reverse] [this list|the list]: {items}[.|]", "Put this list the other way round: {items}.", "Write this list backwards: {items}.", "What is this list in reverse: {items}?", "Turn this list around: {items}.",
    "List these from last to first: {items}.", "Give me this in reverse order: {items}.", "Last one first, please: {items}",
    "The last one first: {items}", "Give me this list with the last one first: {items}."]


def dashed(word):
    """The letters with dashes between them: each is a token of its own then."""
    return "-".join(word)


def short_word(draw):
    """A word that is not too long to spell."""
    return draw.one(names.WORDS) if draw.chance(0.4) else names.made_up(draw, draw.any([1, 1, 2]))[:7]


def spelling(draw):
    """The letters of a word."""
    word = short_word(draw)
    return ask("spelling", draw.say(SPELL, w=word), f"{dashed(word)}")


def length(draw):
    """The number of letters, which are said first: one can count what one sees."""
    word = short_word(draw)
    return ask("counting", draw.say(LENGTH, w=word), f"{dashed(word)}: {len(word)} letters", ends=f"{len(word)} letters")


def reversal(draw):
    """A word backwards, after it was spelled forwards."""
    word = short_word(draw)
    return ask("reversing", draw.say(REVERSE, w=word), f"{dashed(word)} backwards is {dashed(word[::-1])}.", contains=[f"is {dashed(word[::-1])}."])


def counting(draw):
    """Numbers one after the other."""
    low = draw.number(0, 30) if draw.chance(0.7) else draw.number(31, 990)
    numbers = list(range(low, low + draw.number(3, 9)))
    templates, ordered = (COUNT_UP, numbers) if draw.chance(0.6) else (COUNT_DOWN, numbers[::-1])
    return ask("counting", draw.say(templates, a=numbers[0], b=numbers[-1]), ", ".join(map(str, ordered)))


def several(draw, make, low, high):
    """Some different things."""
    found = []
    wanted = draw.number(low, high)
    while len(found) < wanted:
        item = make(draw)
        found += [item] if item not in found else []
    return found


def listing(draw):
    """How many things are in a list, numbered on the way."""
    items = several(draw, names.word, 2, 7)
    numbered = ", ".join(f"{i} {item}" for i, item in enumerate(items, 1))
    return ask("counting", draw.say(HOW_MANY, items=", ".join(items)), f"{numbered}: {len(items)} in all", ends=f": {len(items)} in all")


def sorting(draw):
    """Words by the alphabet."""
    items = several(draw, lambda draw: draw.one(names.WORDS), 2, 4)
    return ask("sorting", draw.say(SORT_WORDS, items=", ".join(items)), ", ".join(sorted(items)))


def small_number(draw):
    """A number of one to three digits."""
    return draw.number(0, draw.any([20, 99, 999]))


def ordering(draw):
    """Numbers by size."""
    items = several(draw, small_number, 3, 5)
    return ask("sorting", draw.say(SORT_NUMBERS, items=", ".join(map(str, items))), ", ".join(map(str, sorted(items))))


def largest(draw):
    """The largest of a few numbers."""
    items = several(draw, small_number, 3, 5)
    return ask("comparison", draw.say(LARGEST, items=", ".join(map(str, items))), f"{max(items)} is the largest.", short=str(max(items)), starts=f"{max(items)} ")


def flipping(draw):
    """A list from its end."""
    items = several(draw, names.word, 3, 5)
    return ask("reversing", draw.say(FLIP, items=", ".join(items)), ", ".join(items[::-1]))


def episode(draw):
    """Any of them."""
    return draw.any([spelling, length, reversal, counting, counting, listing, sorting, ordering, largest, flipping])(draw)
