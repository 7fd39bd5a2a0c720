"""What the user says of themselves, what the model keeps of it, and how it is asked for again."""

from dataclasses import dataclass
from typing import Callable

from . import names
from .dialogue import Episode, assistant, user


@dataclass
class Trait:
    """Something that can be said of the user: how, what is replied, how it is corrected and asked for."""

    noun: str
    make: Callable
    tells: list
    asks: list

    def known(self, value):
        """The reply to a question for it."""
        return f"Your {self.noun} is {value}."


ASKS = ["What is my {noun}?", "What's my {noun}?", "[Do you|Can you] remember my {noun}?", "[Tell me|Say] my {noun}.", "Which {noun} did I [tell|give] you?", "Do you [still |]know my {noun}?",
    "And what is my {noun}?", "Can you tell me my {noun}[ again|]?", "I forgot my {noun}. What is it?", "What did I say my {noun} was?", "Repeat my {noun}[, please|].", "My {noun} is[ what|]?"]
CORRECTIONS = ["[Sorry|No], my {noun} is {value}.", "Actually, my {noun} is {value}.", "I was wrong: my {noun} is {value}.", "Correction: my {noun} is {value}.", "My {noun} is {value} now.", "Wait, I meant {value}. My {noun} is {value}.",
    "Forget what I said. My {noun} is {value}.", "My {noun} [has changed|changed]: it is {value}.", "That was a mistake, my {noun} is {value}.", "[Please change|Change] my {noun} to {value}."]
TELLS = ["My {noun} is {value}.", "[Remember|Please remember|Keep in mind|Note] that my {noun} is {value}.", "By the way, my {noun} is {value}.", "You should know that my {noun} is {value}.", "{value} is my {noun}.",
    "I want to tell you my {noun}: it is {value}.", "My {noun}? It is {value}.", "Just so you know, my {noun} is {value}.", "[Let me|I will] tell you my {noun}. It is {value}.", "For later: my {noun} is {value}."]


def trait(noun, make, tells=(), asks=()):
    """A trait with its own sentences beside those that all have."""
    own = [template.replace("{noun}", noun) for template in TELLS]
    return Trait(noun, make, [*tells, *own], [*asks, *(template.replace("{noun}", noun) for template in ASKS)])


NAME = trait("name", names.person,
    ["I am {value}.", "I'm {value}.", "[Hi|Hello|Hey], I am {value}.", "[Hi|Hello], my name is {value}.", "Call me {value}.", "You can call me {value}.", "People call me {value}.", "This is {value} speaking.", "{value} here.", "They call me {value}."],
    ["Who am I?", "What am I called?", "How am I called?", "Do you know who I am?", "What do people call me?", "Do you remember who I am?", "What name did I give you?"])
TRAITS = [
    NAME,
    NAME,
    trait("favourite colour", lambda draw: draw.any(names.COLOURS),
        ["I like {value} best of all colours.", "The colour I like most is {value}.", "I love the colour {value}.", "No colour is as nice as {value}, I think.", "Of all colours I like {value} most.", "My best-loved colour is {value}.", "I prefer the colour {value}."],
        ["Which colour do I like[ best| most|]?", "What colour do I like[ best| most|]?", "Which colour do I love?", "Which is the colour that I like?", "What colour do I prefer?", "Do you know which colour I like?"]),
    trait("home town", names.town,
        ["I live in {value}.", "I am from {value}.", "I come from {value}.", "My home is in {value}.", "I moved to {value}.", "I was born in {value} and still live there.", "My house is in {value}."],
        ["Where do I live?", "Where am I from?", "In which town do I live?", "Where do I come from?", "Where is my home?", "Which town do I live in?", "Where is my house?"]),
    trait("age", lambda draw: draw.number(5, 99),
        ["I am {value} years old.", "I'm {value} years old.", "I turned {value} last week.", "I have just turned {value}.", "I will be {value} years old.", "My years are {value}."],
        ["How old am I?", "How many years old am I?", "Do you know how old I am?", "What age am I?", "Tell me how old I am.", "How old did I say I am?"]),
    trait("lucky number", lambda draw: draw.number(0, 999),
        ["The number {value} brings me luck.", "I always bet on {value}.", "My number is {value}.", "I like the number {value}.", "The number I like is {value}.", "Remember the number {value}."],
        ["Which number brings me luck?", "What is my number?", "Which number do I like?", "What number did I tell you?", "Which number should you remember?", "What was the number?"]),
    trait("favourite food", lambda draw: draw.any(names.FOODS), ["I like to eat {value}.", "I love {value}.", "I could eat {value} every day.", "{value} is what I like to eat.", "I eat {value} all the time.", "Nothing tastes as good as {value}."],
        ["What do I like to eat?", "Which food do I like[ best|]?", "What is the food I like?", "What could I eat every day?", "What do I love to eat?", "Which food do I love?"]),
    trait("hobby", lambda draw: draw.any(names.HOBBIES), ["I like {value}.", "In my free time I go {value}.", "I enjoy {value}.", "I spend my time with {value}.", "I do a lot of {value}.", "{value} is what I do for fun."],
        ["What do I do for fun?", "What do I like to do?", "What do I do in my free time?", "What do I enjoy?", "How do I spend my time?", "Which hobby do I have?"]),
    trait("job", lambda draw: draw.any(names.JOBS), ["I work as a {value}.", "I am a {value}.", "I earn my money as a {value}.", "I have a job as a {value}.", "I became a {value}.", "They hired me as a {value}."],
        ["What do I work as?", "What do I do for a living?", "What is my profession?", "What am I by profession?", "How do I earn my money?", "What kind of work do I do?"]),
    trait("password", names.code), trait("dog's name", lambda draw: names.made_up(draw, 2).capitalize()), trait("cat's name", names.person), trait("sister's name", names.person),
    trait("brother's name", names.person), trait("friend's name", names.person), trait("teacher's name", names.person), trait("room number", lambda draw: draw.number(1, 999)), trait("order number", names.code),
    trait("street", lambda draw: names.made_up(draw, 2).capitalize() + " Street"), trait("birthday month", lambda draw: draw.any(names.MONTHS)), trait("favourite day", lambda draw: draw.any(names.DAYS)),
    trait("favourite word", names.word), trait("favourite animal", lambda draw: draw.any(names.PETS)),
]
NOTED = "I will remember that your {noun} is {value}."
CORRECTED = "Thank you, I have changed it: your {noun} is {value}."
NOT_TOLD = "You have not told me your {noun}."


def tell(draw, trait, value):
    """The user says it."""
    text = draw.say(trait.tells, value=value)
    return [user(text[0].upper() + text[1:]), assistant(NOTED.replace("{noun}", trait.noun).replace("{value}", str(value)))]


def correct(draw, trait, value):
    """The user says it otherwise."""
    reply = CORRECTED.replace("{noun}", trait.noun).replace("{value}", str(value))
    return [user(draw.say(CORRECTIONS, noun=trait.noun, value=value)), assistant(reply)]


def different(draw, trait, old):
    """Another value than the old one."""
    while (new := trait.make(draw)) == old:
        pass
    return new


def story(draw):
    """Some traits told, some corrected, one of them asked for: the turns before may stand apart from the question."""
    traits = {trait.noun: trait for trait in draw.shuffled(TRAITS)[: draw.any([1, 1, 2, 2, 3])]}
    values, before = {}, []
    for noun, trait in traits.items():
        values[noun] = trait.make(draw)
        before.append(tell(draw, trait, values[noun]))
    for noun, trait in traits.items():
        if draw.chance(0.25):
            values[noun] = different(draw, trait, values[noun])
            before.append(correct(draw, trait, values[noun]))
    asked = draw.any(list(traits.values()))
    for trait in traits.values():
        if draw.chance(0.3):
            before.append([user(draw.say(trait.asks)), assistant(trait.known(values[trait.noun]))])
    return question(draw, asked, values[asked.noun], before)


def question(draw, trait, value, before):
    """Asks for a trait after what was told of it."""
    turns = [user(draw.say(trait.asks)), assistant(trait.known(value))]
    short = str(value) if " " not in str(value) else None
    return Episode("recall", turns, {"contains": [str(value)]}, before=before, short=short)


def not_told(draw):
    """A question for something that was never said, with something else said before, perhaps."""
    asked, other = draw.shuffled(TRAITS)[:2]
    before = [] if draw.chance(0.4) or other.noun == asked.noun else [tell(draw, other, other.make(draw))]
    answer = NOT_TOLD.replace("{noun}", asked.noun)
    return Episode("recall", [user(draw.say(asked.asks)), assistant(answer)], {"equals": answer}, before=before)


def recap(draw):
    """Everything at once."""
    traits = {trait.noun: trait for trait in draw.shuffled(TRAITS)[:2]}
    values = {noun: trait.make(draw) for noun, trait in traits.items()}
    before = [tell(draw, traits[noun], value) for noun, value in values.items()]
    answer = " ".join(f"Your {noun} is {value}." for noun, value in values.items())
    return Episode("recall", [user(draw.say(RECAPS)), assistant(answer)], {"contains": [str(value) for value in values.values()]}, before=before)


RECAPS = ["What do you know about me?", "What did I tell you[ about me|]?", "What have I told you[ so far|]?", "Repeat what I told you.", "Tell me what you know about me.", "What do you remember[ about me|]?",
    "Sum up what I said about me.", "List what you know about me.", "Say again what you know of me."]


def episode(draw):
    """Any of them."""
    return draw.any([story] * 6 + [not_told, recap])(draw)
