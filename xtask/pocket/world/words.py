"""Counting, spelling, reversing and sorting short things."""

from . import names
from .dialogue import ask
from .orders import orders

W = "[the word |]{w}"
NOW = "[And how|So how|Now, how|How]"
SPELL = [
    orders("spell|spell out", W),
    orders("write|say|spell", f"{W} letter by letter"),
    orders("give me|tell me|show me|list|name", f"[the letters|all the letters|each letter] of {W}"),
    f"{NOW} [do you|does one|do I|would you|can I|do we] spell {W}?",
    f"{NOW} is {W} [spelled|written]?",
    f"[What are|Which are|And what are] the letters [of|in] {W}?",
    f"[Which|What] letters [make up|are in] {W}?",
    f"[Do you know|Can you tell me|Can you say|Tell me|Please tell me|Show me] how {W} is spelled[?|]",
    f"[Do you know|Can you tell me|Tell me|Please tell me|Show me] how to spell {W}[?|]",
    f"[Letter by letter|The letters|The spelling], please: {{w}}[.|]",
    "[Spell|Please spell|The letters of|The spelling of|Letter by letter]: {w}[.|]",
    f"[What is|What's|Give me] the spelling of {W}[?|]",
    "{w}, [letter by letter|spelled out][, please|].",
]
LENGTH = [
    f"{NOW} many letters [are in|are there in|make up] {W}?",
    f"{NOW} many letters [does {W} have|has {W}|has {W} got|do you need for {W}]?",
    orders("count", f"[the letters|all letters|all the letters] [of|in] {W}"),
    orders("tell me|give me|find|say", f"the number of letters [of|in] {W}"),
    f"[What is|What's|And what is] the number of letters [of|in] {W}?",
    "[{w}|The word {w}] has how many letters?",
    f"Of how many letters is {W} made?",
    f"{NOW} long is the word {{w}}[, in letters|, counted in letters|]?",
    f"{NOW} many letters long is {W}?",
    f"[Letters|The number of letters|How many letters] in {W}?",
    f"[Do you know|Can you tell me|Could you tell me] how many letters [there are in {W}|are in {W}|{W} has]?",
    f"[Tell me|Please tell me|I want to know] how many letters [there are in {W}|are in {W}|{W} has][.|]",
]
REVERSE = [
    orders("reverse|turn around|flip", W),
    orders("spell|write|say|read", f"{W} [backwards|in reverse|from right to left|from the end to the start]"),
    orders("give me|tell me|show me", f"{W} [backwards|in reverse|in reverse order]"),
    orders("turn", f"{W} around"),
    orders("say|write|spell", f"{W} the other way round"),
    f"[What is|What's|And what is|So what is] {W} [backwards|in reverse|spelled backwards|from right to left|the other way round]?",
    f"{NOW} [do you|does one|do I|would you] [spell|write|say] {W} [backwards|in reverse|from the end to the start|from right to left]?",
    f"{NOW} is {W} [spelled|written] [backwards|in reverse|from the end to the start]?",
    f"[What do I get when I|What do you get when you|What comes out if I] [reverse {W}|turn {W} around|write {W} backwards|spell {W} backwards]?",
    "[Backwards|In reverse|The other way round|From the last letter to the first], please: {w}[.|]",
    "{w} [backwards|in reverse|the other way round][, please.|?|]",
]
COUNT_UP = [
    orders("count|count up|count upwards", "from {a} [to|up to] {b}"),
    orders("count", "to {b}, [starting with|starting at|beginning with|starting from] {a}"),
    orders("list|write|say|name|write down", "[the|all|all the] numbers from {a} [to|up to] {b}"),
    orders("give me|show me|tell me", "[the|all|all the] numbers from {a} [to|up to] {b}"),
    orders("start|begin", "[at|with|from] {a} and count [up to|to] {b}"),
    "[Which|What] numbers [are there|come|go] from {a} [to|up to] {b}?",
    "[The numbers|Numbers|All numbers|All the numbers] [from |]{a} [to|up to] {b}, please[.|]",
    "[What are|Which are] [the|all|all the] numbers from {a} [to|up to] {b}?",
    "[Do you know how|Are you able] to count from {a} [to|up to] {b}?",
    "[I want you|I would like you] to count [up |]from {a} to {b}[.|]",
]
COUNT_DOWN = [
    orders("count down|count backwards|count back|count downwards", "from {b} to {a}"),
    orders("count|go", "[down|backwards] from {b} to {a}"),
    orders("count|go", "from {b} [down|back] to {a}"),
    orders("start|begin", "[at|with|from] {b} and [count down|count backwards|go down|count back] to {a}"),
    orders("give me|show me|write|make", "a countdown from {b} to {a}"),
    orders("list|write|say|name|write down", "[the|all|all the] numbers from {b} [down|back] to {a}"),
    orders("give me|show me|tell me", "[the|all|all the] numbers from {b} [down|back] to {a}"),
    orders("count down|count backwards", "to {a}, [starting with|starting at|beginning with] {b}"),
    "[A countdown|Countdown|The countdown] from {b} [to|down to] {a}[, please.|, please|]",
    "[Which|What] numbers [are there|come|go] from {b} [down|back] to {a}?",
    "[The numbers|Numbers|All numbers] [from |]{b} down to {a}, please[.|]",
]
THINGS = "[things|items|words|entries]"
HOW_MANY = [
    f"{NOW} many {THINGS} are [in this list|in the list|on this list|here|there|these|listed here]: {{items}}?",
    f"{NOW} many {THINGS} are in {{items}}?",
    f"{NOW} many are [these|there|here|in this list]: {{items}}?",
    orders("count", f"[these|these {THINGS}|the {THINGS}|the {THINGS} of this list|the {THINGS} in this list|this list]", ": {items}"),
    orders("count", f"[the|all] {THINGS} in {{items}}"),
    "[Count|Please count]: {items}[.|]",
    f"[What is|What's] the number of {THINGS} in [this list: |the list: |]{{items}}[?|]",
    orders("tell me|give me|find", f"the number of {THINGS}[ in this list| here|]", ": {items}"),
    orders("tell me|say", f"how many[ {THINGS}|] there are", ": {items}"),
    f"{{items}}[: how| - how|. How] many {THINGS} [are that|is that|are there|are these]?",
    "{items}[: how|. How] many are [that|there|these]?",
    "How many are in {items}?",
    f"[Do you know|Can you tell me|Could you tell me] how many {THINGS} [these are|are here|are in this list|there are]: {{items}}?",
]
WORDS_HERE = "[these words|the words|the following words|this list of words]"
BY_LETTERS = "[alphabetically|by the alphabet|from A to Z|in alphabetical order]"
SORT_WORDS = [
    orders("sort", "[these words|the words|these|the following words]", ": {items}"),
    orders("sort|order|arrange|list", f"{WORDS_HERE} {BY_LETTERS}", ": {items}"),
    orders("put|bring|write", f"[{WORDS_HERE}|these] [in|into] [alphabetical|ABC] order", ": {items}"),
    orders("sort|order|arrange", f"{{items}} {BY_LETTERS}"),
    orders("put|bring", "{items} [in|into] [alphabetical|ABC] order"),
    "[Sort|Please sort|Sort by the alphabet|Sort alphabetically|Arrange alphabetically|Order alphabetically]: {items}[.|]",
    "[Alphabetical order|ABC order|In alphabetical order|Sorted by the alphabet|Sorted alphabetically|From A to Z], please: {items}[.|]",
    "[From A to Z|Alphabetical order|In alphabetical order|By the alphabet]: {items}[.|]",
    "Which order [is alphabetical|is the alphabetical one|is that of the alphabet]: {items}?",
    f"[What is|What's] the [alphabetical|ABC] order of [these words: |these: |the words |]{{items}}?",
    f"How do [these words|these] [go|stand] {BY_LETTERS}: {{items}}?",
]
NUMBERS = "[these numbers|the numbers|the following numbers|this list of numbers]"
UPWARDS = "[from smallest to largest|from small to large|in ascending order|by size|from low to high|from the smallest to the largest]"
SORT_NUMBERS = [
    orders("sort", "[these numbers|the numbers|the following numbers]", ": {items}"),
    orders("sort|order|arrange|list", f"[{NUMBERS}|these] {UPWARDS}", ": {items}"),
    orders("put|bring", f"{NUMBERS} [in|into] [order|the right order|ascending order]", ": {items}"),
    orders("sort|order|arrange", f"[the numbers |]{{items}} {UPWARDS}"),
    orders("sort|order|arrange", "the numbers {items}"),
    orders("put|bring", "[the numbers |]{items} [in|into] [ascending order|order of size|order]"),
    orders("put", "these in order", ": {items}"),
    "[Smallest first|The smallest first|The smallest one first|In ascending order|Sorted by size|Ascending order], please: {items}[.|]",
    "[From small to large|From smallest to largest|Smallest first|Ascending order|By size|Sort by size|Sort the numbers]: {items}[.|]",
    "[What is|What's] the [ascending order|order by size|order from small to large] of {items}?",
]
BIGGEST = "[largest|biggest|greatest|highest]"
LARGEST = [
    f"[Which|What] is the {BIGGEST}[ number| one|] of [these: |these numbers: |]{{items}}?",
    f"[What is|What's|Which is|And what is|So which is] the {BIGGEST}[ number| one|]: {{items}}?",
    orders("find|pick|name|choose|show", f"the {BIGGEST}[ number| one|] [of|among|in] [these|these numbers|this list]", ": {items}"),
    orders("find|pick|name|choose", f"the {BIGGEST}[ number| one|] [of|among] {{items}}"),
    orders("tell me|give me|show me", f"the {BIGGEST}[ number| one|][ of these|]", ": {items}"),
    f"[Of|Out of|Among] {{items}}, [which|which one|which number] is the {BIGGEST}?",
    orders("tell me|say", f"which[ number| one|] is the {BIGGEST}", ": {items}"),
    f"Which[ number| one| of these|] is the {BIGGEST}: {{items}}?",
    "[What is|What's|And what is] the maximum of [these: |these numbers: |]{items}?",
    orders("give me|tell me|name|find", "the maximum[ of these| of these numbers|]", ": {items}"),
    orders("give me|tell me|name|find", "the maximum of {items}"),
    f"[The {BIGGEST} one|The {BIGGEST} number|The maximum|The {BIGGEST} of these], please: {{items}}[.|]",
    f"{{items}}[: which|. Which][ number| one|] is the {BIGGEST}?",
]
A_LIST = "[this list|the list|the following list|this list of words]"
FLIP = [
    orders("reverse|flip", "[this list|the list|the following list|the order of this list|the order of these words|the order of these]", ": {items}"),
    orders("put", "[this list|the list|the following list|this list of words] the other way round", ": {items}"),
    orders("turn", "[this list|the list|the following list|the order of these words] around", ": {items}"),
    orders("write|read|say", f"{A_LIST} [backwards|from last to first|in reverse order|from the end to the start]", ": {items}"),
    orders("list", "[these|these words|the following words] [from last to first|in reverse order|from the last to the first]", ": {items}"),
    orders("give me|show me|tell me", f"[{A_LIST}|this] [in reverse order|in reverse|backwards|with the last one first|from last to first]", ": {items}"),
    f"[What is|What's] [this list|the list|this] [in reverse|in reverse order|backwards|the other way round|from last to first]: {{items}}?",
    "[Last one first|The last one first|In reverse order|Backwards|From last to first], please: {items}[.|]",
    "[Last one first|The last one first|In reverse order|From last to first|Reverse order]: {items}[.|]",
    "{items}[: what| - what|. What] is [this list|that list|this] [in reverse|in reverse order|backwards|the other way round]?",
]


def dashed(word):
    """The letters with dashes between them: each is a token of its own then."""
    return "-".join(word)


def short_word(draw):
    """A word that is not too long to spell: listed, or made of pieces of those, or of syllables."""
    kind = draw.random.random()
    if kind < 0.35:
        return draw.one(names.WORDS)
    if kind < 0.7:
        return names.spliced(draw)
    return draw.made(lambda: names.made_up(draw, draw.any([1, 1, 2]))[:7])


def common_word(draw):
    """A word to sort, in lower case."""
    return draw.one(names.WORDS) if draw.chance(0.5) else names.spliced(draw)


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
    items = several(draw, common_word, 2, 4)
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
