"""Facts from tables, and the admission that something is not in them."""

from functools import cache
from pathlib import Path

from . import names
from .dialogue import ask

TABLES = Path(__file__).parent / "tables"

CAPITAL = ["What is the capital of {x}?", "What's the capital[ city|] of {x}?", "[Tell me|Name|Give me] the capital of {x}[.|]", "Which city is the capital of {x}?", "What is {x}'s capital?",
    "The capital of {x} is[ what|]?", "Do you know the capital of {x}?", "{x}: what is its capital?", "Can you tell me the capital of {x}?", "I need the capital of {x}.", "How is the capital of {x} called?", "Capital of {x}?"]
COUNTRY = ["{x} is the capital of which country?", "Of which country is {x} the capital?", "Which country has {x} as its capital?", "Which country's capital is {x}?", "[Tell me|Name] the country whose capital is {x}.",
    "What country is {x} the capital of?", "{x} is the capital of what?", "For which country is {x} the capital?"]
CONTINENT = ["On which continent is {x}?", "Which continent is {x} in?", "What continent does {x} belong to?", "Where is {x}?", "[Tell me|Name] the continent of {x}.", "In which part of the world is {x}?",
    "{x} is on which continent?", "On what continent do I find {x}?", "Where in the world is {x}?",
    "Which part of the world is {x} in?"]
CURRENCY = ["What is the currency of {x}?", "Which currency does {x} use?", "What money do people use in {x}?", "[Tell me|Name] the currency of {x}.", "With which currency do I pay in {x}?", "What do people pay with in {x}?",
    "What is the money in {x} called?", "Which money is used in {x}?", "Currency of {x}?"]
KIND = ["What kind of animal is a {x}?", "What is a {x}?", "Is a {x} a mammal, a bird or something else?", "To which class of animals does the {x} belong?", "Which class of animal is the {x}?",
    "[Tell me|Say] what kind of animal a {x} is.", "What sort of animal is the {x}?", "What type of animal is a {x}?",
    "Which type of animal is a {x}?"]
LEGS = ["How many legs does a {x} have?", "How many legs has a {x}?", "[Tell me|What is] the number of legs of a {x}[.|?]", "A {x} has how many legs?", "How many legs are there on a {x}?",
    "On how many legs does a {x} walk?", "How many legs do you count on a {x}?", "Legs of a {x}?"]
YOUNG = ["What is a baby {x} called?", "What is the young of a {x} called?", "What do you call a young {x}?", "How is a baby {x} called?", "[Tell me|Give me] the name for a young {x}.", "What is the word for a baby {x}?",
    "What's a little {x} called?", "Which word means a young {x}?"]
SOUND = ["What sound does a {x} make?", "What does a {x} do to make a sound?", "Which noise does a {x} make?", "How does a {x} sound?", "[Tell me|Say] what sound a {x} makes.", "What noise comes from a {x}?",
    "What does a {x} say?", "What is the sound of a {x}?",
    "Which sound does a {x} make?", "Tell me which noise a {x} makes."]
SYMBOL = ["What is the [chemical |]symbol of {x}?", "What's the symbol for {x}?", "Which symbol does {x} have?", "[Tell me|Give me] the [chemical |]symbol of {x}.", "What is the sign of the element {x}?", "How is {x} written in chemistry?",
    "How do chemists write {x}?", "Symbol of {x}?",
    "Tell me which symbol {x} has.", "Give me the chemical sign of {x}."]
ELEMENT = ["Which element has the symbol {x}?", "What element is {x}?", "The symbol {x} stands for which element?", "[Tell me|Name] the element with the symbol {x}.", "What does the chemical symbol {x} mean?", "What does {x} stand for in chemistry?",
    "Which chemical element is {x}?", "For which element does {x} stand?",
    "What does the symbol {x} mean?", "What does {x} mean in chemistry?"]
NUMBER = ["What is the atomic number of {x}?", "Which atomic number does {x} have?", "[Tell me|Give me] the atomic number of {x}.", "What number does {x} have in the periodic table?", "At which place of the periodic table is {x}?",
    "How many protons does {x} have?", "What number is the element {x}?", "Atomic number of {x}?"]
OPPOSITE = ["What is the opposite of {x}?", "What's the opposite of {x}?", "[Tell me|Give me|Name] the opposite of {x}[.|]", "Which word is the opposite of {x}?", "What is the contrary of {x}?", "What means the opposite of {x}?",
    "The opposite of {x} is[ what|]?", "Opposite of {x}?", "Which word means the contrary of {x}?",
    "Do you know the opposite of {x}?", "What is the exact opposite of {x}?"]
PLURAL = ["What is the plural of {x}?", "What's the plural of {x}?", "[Tell me|Give me] the plural of {x}.", "One {x}, two what?", "How do you say {x} in the plural?", "What do you call more than one {x}?", "The plural of {x} is[ what|]?",
    "Plural of {x}?", "What is the plural form of {x}?",
    "What are more than one {x} called?", "Tell me what more than one {x} are called."]
MIXTURE = ["What do {x} make?", "Which colour do you get from {x}?", "What colour do {x} make together?", "What happens when you mix {x}?", "Mix {x}: which colour is that?", "If I mix {x}, what colour do I get?",
    "What is {x} mixed?", "[Tell me|Name] the colour that {x} make.",
    "What colour are {x} when they are mixed?", "What are {x} when you mix them?"]
SIDES = ["How many sides does a {x} have?", "How many sides has a {x}?", "A {x} has how many sides?", "What is the number of sides of a {x}?", "[Tell me|Say] how many sides a {x} has.", "How many corners does a {x} have?",
    "How many edges does a {x} have?", "Count the sides of a {x}."]
DAY_AFTER = ["Which day comes after {x}?", "What day is after {x}?", "What is the day after {x}?", "[Tell me|Name] the day that follows {x}.", "Which day follows {x}?", "Today is {x}. What day is tomorrow?", "If today is {x}, what is tomorrow?", "After {x} comes which day?",
    "After {x}, which day comes?", "Which day comes next after {x}?"]
DAY_BEFORE = ["Which day comes before {x}?", "What day is before {x}?", "What is the day before {x}?", "[Tell me|Name] the day that precedes {x}.", "Today is {x}. What day was yesterday?", "If today is {x}, what was yesterday?", "Before {x} comes which day?", "What day was it the day before {x}?",
    "What day comes before {x}?", "Before {x}, which day is it?"]
MONTH_AFTER = ["Which month comes after {x}?", "What month is after {x}?", "What is the month after {x}?", "[Tell me|Name] the month that follows {x}.", "Which month follows {x}?", "It is {x}. What is the next month?", "If it is {x} now, what is next month?", "After {x} comes which month?",
    "If it is {x}, what is next month?", "Which month comes next after {x}?", "After {x}, which month comes?"]

UNKNOWN = ["Who won the [football |chess |]match [yesterday|last night|in {t}]?", "[How many people|Who] live[s|] in {t}?", "Who is the [mayor|president|king|queen] of {t}?", "Who wrote the book about {w}?", "When was {p} born?", "Who is {p} {q}?",
    "How old is the [bridge|church|museum] in {t}?", "What is the price of [a|one] {w}?", "What did {p} {q} invent?", "Who invented the {w}?", "When did the war of {t} end?", "What is the population of {t}?", "How far is {t} from {u}?",
    "What is the meaning of {m}?", "What does {m} mean?", "Who painted the picture of the {w}?", "Which team is the best in {t}?", "What was on the news today?", "Which song is number one?", "How do I fix my {w}?", "Who discovered {m}?",
    "Where was {p} {q} born?", "What is the phone number of {p}?", "Which year did {p} {q} die?", "What is the recipe for {m}?", "How tall is the tower of {t}?",
    "What does one {w} cost?", "How tall is {p} {q}?", "How tall is the church of {t}?", "What is the price of the {w} in {t}?",
    "Who wrote Hamlet?", "Who wrote Faust?", "Who painted the Mona Lisa?", "Who was Albert Einstein?", "Who was Napoleon?", "Who discovered America?",
    "When did the second world war end?", "When did Rome fall?", "What is the speed of light?", "What is gravity?", "What is photosynthesis?", "What is a black hole?",
    "What is an atom?", "How does a computer work?", "How do birds fly?", "Why is the sky blue?", "Why do cats purr?", "What is love?",
    "Who is the president of France?", "Who is the chancellor of Germany?", "Who is the pope?", "Who is the richest person on earth?", "How many people live on earth?", "How many people live in Paris?",
    "How far away is the moon?", "How far is it to the sun?", "How old is the earth?", "How deep is the sea?", "How long is the Nile?", "Which is the longest river?",
    "What is the largest country?", "What is the smallest country?", "Who won the world cup?", "Who sang Yesterday?", "What is the best film?", "Which car is the fastest?",
    "How heavy is an elephant?", "How fast is a train?", "What do lions eat?", "Where do penguins live?", "How old can a turtle get?", "What year is it?",
    "What day is today?", "Which date is it?", "What happened in 1989?", "What is bitcoin?", "What is the stock market?", "What is jazz?",
    "How do you bake bread?", "How do you play chess?"]

IDK = "I don't know that."


@cache
def table(name):
    """The rows of a table: a key and its values."""
    lines = (TABLES / f"{name}.txt").read_text().splitlines()
    rows = [line.rsplit(": ", 1) for line in lines if line and not line.startswith("#")]
    return [(key, values.split(", ") if name != "single" else [values]) for key, values in rows]


def article(name):
    """The name of a country in the middle of a sentence."""
    return f"the {name}" if name in ("Netherlands", "Philippines", "United Kingdom", "United States") else name


def plain(draw, templates, x, answer, key):
    """One fact: the reply is a sentence that contains the key."""
    short = key if " " not in key else None
    return ask("facts", draw.say(templates, x=x), answer, short=short, contains=[key])


def country(draw):
    """Something of a country."""
    name, (capital, continent, currency) = draw.any(table("countries"))
    x = article(name)
    return draw.any([
        lambda: plain(draw, CAPITAL, x, f"The capital of {x} is {capital}.", capital),
        lambda: plain(draw, CAPITAL, x, f"The capital of {x} is {capital}.", capital),
        lambda: plain(draw, COUNTRY, capital, f"{capital} is the capital of {x}.", name),
        lambda: plain(draw, CONTINENT, x, f"{x[0].upper() + x[1:]} is in {continent}.", continent),
        lambda: plain(draw, CURRENCY, x, f"The currency of {x} is the {currency}.", currency),
    ])()


def animal(draw):
    """Something of an animal."""
    name, (kind, legs, young) = draw.any(table("animals"))
    return draw.any([
        lambda: plain(draw, KIND, name, f"A {name} is {'an' if kind[0] in 'aeiou' else 'a'} {kind}.", kind),
        lambda: plain(draw, LEGS, name, f"A {name} has {legs} legs.", legs),
        lambda: plain(draw, YOUNG, name, f"A young {name} is called a {young}.", young),
    ])()


def element(draw):
    """Something of a chemical element."""
    name, (symbol, number) = draw.any(table("elements"))
    return draw.any([
        lambda: plain(draw, SYMBOL, name, f"The symbol of {name} is {symbol}.", symbol),
        lambda: plain(draw, ELEMENT, symbol, f"{symbol} is the symbol of {name}.", name),
        lambda: plain(draw, NUMBER, name, f"The atomic number of {name} is {number}.", number),
    ])()


def pairs(draw):
    """One of the tables of two columns."""
    name, templates, sentence = draw.any([
        ("opposites", OPPOSITE, "The opposite of {x} is {y}."),
        ("opposites", OPPOSITE, "The opposite of {x} is {y}."),
        ("plurals", PLURAL, "The plural of {x} is {y}."),
        ("mixtures", MIXTURE, "{x} make {y}."),
        ("shapes", SIDES, "A {x} has {y} sides."),
        ("sounds", SOUND, "A {x} {y}."),
    ])
    x, (y,) = draw.any(table(name))
    if name == "opposites" and draw.chance(0.4) and len({b for _, (b,) in table(name)}) == len(table(name)):
        x, y = y, x
    answer = sentence.replace("{x}", x).replace("{y}", y)
    return plain(draw, templates, x, answer[0].upper() + answer[1:], y)


def neighbour(draw):
    """The day or month beside another."""
    circle, templates, step, sentence = draw.any([
        (names.DAYS, DAY_AFTER, 1, "{y} comes after {x}."),
        (names.DAYS, DAY_BEFORE, -1, "{y} comes before {x}."),
        (names.MONTHS, MONTH_AFTER, 1, "{y} comes after {x}."),
    ])
    place = draw.number(0, len(circle) - 1)
    x, y = circle[place], circle[(place + step) % len(circle)]
    return plain(draw, templates, x, sentence.replace("{x}", x).replace("{y}", y), y)


def single(draw):
    """A fact that stands alone, with a few ways to ask for it: the last way is held out."""
    questions, (answer,) = draw.any(table("single"))
    ways = questions.split(" | ")
    way = ways[-1] if draw.side == "evaluation" else draw.any(ways[:-1])
    return ask("facts", draw.expand(way), answer, equals=answer)


def unknown(draw):
    """A question that no table answers: about something made up, or of a kind that the model knows nothing of."""
    if draw.chance(0.45):
        templates = draw.any([CAPITAL, CAPITAL, CONTINENT, CURRENCY, SYMBOL, NUMBER, OPPOSITE, PLURAL, LEGS, KIND, YOUNG, SOUND])
        proper = templates in (CAPITAL, CONTINENT, CURRENCY)
        invented = names.made_up(draw, 2)
        question = draw.say(templates, x=invented.capitalize() if proper else invented)
    else:
        question = draw.say(UNKNOWN, t=names.town(draw), u=names.town(draw), w=names.word(draw), p=names.person(draw), q=names.made_up(draw, 2).capitalize(), m=names.made_up(draw, 2))
    return ask("unknown", question, IDK)


def episode(draw):
    """Any fact, each of the many as likely as the others."""
    return draw.any([country] * 5 + [animal] * 2 + [element] * 2 + [pairs] * 2 + [neighbour, single])(draw)
