"""What the user says of themselves, what the model keeps of it, and how it is asked for again."""

from dataclasses import dataclass
from typing import Callable

from . import names
from .asking import indirect
from .dialogue import Episode, Exchange, assistant, user

DRINKS = "tea coffee milk water cocoa lemonade cider juice".split()
SEASONS = "spring summer autumn winter".split()


@dataclass
class Trait:
    """Something that can be said of the user: how, what is replied, how it is corrected and asked for."""

    noun: str
    make: Callable
    tells: list
    corrections: list
    asks: list

    def known(self, value):
        """The reply to a question for it."""
        return f"Your {self.noun} is {value}."


ASKS = [
    "[What is|What's|And what is|So what is|Now what is|What was] my {noun}[ again|]?",
    "[Do you|Can you] [still |]remember my {noun}?",
    "[Tell me|Say|Repeat|Give me] my {noun}[, please| again|].",
    "Please [tell me|say|repeat|give me] my {noun}[ again|].",
    "[Which|What] {noun} did I [tell|give] you[ before|]?",
    "[Do you know|Do you still know|Can you tell me|Could you tell me|Can you repeat|Can you still tell me] my {noun}[ again|]?",
    "[I forgot|I have forgotten|I can't remember] my {noun}. [What is it?|Tell me.|Do you know it?|What was it?]",
    "[What did I say|What did I tell you] my {noun} [was|is]?",
    "My {noun} is[ what|]?",
    *indirect("what my {noun} is"),
]
CORRECTIONS = [
    "[Sorry|No|Wait|Actually|No, wait|Oh, sorry|Oh no|That was a mistake|That was wrong], my {noun} is {value}.",
    "[I was wrong|Correction|I made a mistake|That was wrong]: my {noun} is {value}.",
    "[Forget what I said|Forget that|That was wrong|I made a mistake|I was wrong|That was a mistake|Sorry, that was wrong]. My {noun} is {value}.",
    "My {noun} is [{value} now|now {value}|{value} after all|not what I said: it is {value}].",
    "[Wait|Sorry|No|Actually|No, wait], I meant {value}. My {noun} is {value}.",
    "My {noun} [has changed|changed|is another now|was wrong]: it is [now |]{value}.",
    "[Please change|Change|Please correct|Now change] my {noun} to {value}.",
    "[Can|Could] you [change|correct] my {noun} to {value}?",
]
# How a correction in a trait's own words begins.
BUT = "[No|Sorry|Actually|Wait|No, wait|Oh, sorry], "
TELLS = [
    "My {noun} is {value}.",
    "[Remember|Please remember|Keep in mind|Please keep in mind|Note|Please note|Do not forget|You should know|You must know|I want you to know|Let me tell you] that my {noun} is {value}.",
    "[By the way|Just so you know|So you know|Please remember|Note], my {noun} is {value}.",
    "[For later|Remember this|Please note|Keep this in mind|Please remember]: my {noun} is {value}.",
    "{value} is my {noun}[, remember that|, please remember|, by the way|, just so you know|].",
    "[I want to tell you|Let me tell you|I will tell you|Here is] my {noun}[: it|. It] is {value}.",
    "My {noun}? [It|That] is {value}.",
]


def trait(noun, make, says=(), asks=(), tells=()):
    """A trait with its own sentences beside those that all have.

    What a trait says also corrects, so it begins as in the middle of a sentence; what it tells does not.
    """
    def own(templates):
        return [template.replace("{noun}", noun) for template in templates]
    return Trait(noun, make, [*says, *tells, *own(TELLS)], [*own(CORRECTIONS), *(BUT + said for said in says)], [*asks, *own(ASKS)])


def called(who, make):
    """The trait of somebody's name."""
    return trait(f"{who}'s name", make,
        [f"my {who} is [called|named] {{value}}.", f"[I|we|people|they] call my {who} {{value}}.", f"the name of my {who} is {{value}}.", f"I have a {who} [called|named] {{value}}.", f"{{value}} is the name of my {who}."],
        [f"[What|And what] is my {who} [called|named]?", f"[Who|And who] is my {who}?", f"[What|And what] is the name of my {who}?", f"[What|How] do [I|we|people] call my {who}?", *indirect(f"[what my {who} is called|the name of my {who}|who my {who} is]")])


NAME = trait("name", names.person,
    ["[I am|I'm] {value}.", "[you can|please|you may] call me {value}.", "[people|they|my friends] call me {value}.", "I am [called|named] {value}.", "this is {value}[ speaking|]."],
    ["[Who am I|And who am I|So who am I]?", "[What|How] am I called?", "[Do you|Can you] [still |]remember who I am?", "What do [people|they|my friends|you] call me?", "[What|Which] name [did I give you|do I have]?", "[What|How] [can|should] you call me?",
        *indirect("[who I am|what I am called|what people call me]")],
    ["[Hi|Hello|Hey|Good day|Hello there], [I am|I'm|my name is|this is|call me] {value}.", "{value} here[, hello|].", "[Hi|Hello|Hey], {value} here.", "Call me {value}."])
TRAITS = [
    NAME,
    NAME,
    trait("favourite colour", lambda draw: draw.any(names.COLOURS),
        ["I [like|love] {value} [best|most] of all colours.", "the colour I [like|love|prefer] [most |]is {value}.", "the colour I [like|love] [best|most] is {value}.", "I [love|prefer|like] the colour {value}[ best| most|].", "no colour is as [nice|good] as {value}[, I think|].", "of all colours I [like|love] {value} [most|best].", "my best-loved colour is {value}."],
        ["[Which|What] colour do I [like[ best| most|]|love[ best| most|]|prefer]?", "[Which|What] is the colour that I [like|love|prefer]?", *indirect("[which|what] colour I [like|love|prefer]")]),
    trait("home town", names.town,
        ["I [live|still live|live now] in {value}.", "I [am|come] from {value}.", "my [home|house|flat] is in {value}.", "I [moved|have moved] to {value}.", "I was born in {value} and [still|now] live there.", "the town I [live in|come from|am from] is {value}.", "{value} is [where I live|where I come from|where my house is|the town I live in]."],
        ["Where do I [live|come from]?", "[Where|And where] am I from?", "[In which|In what] town do I live?", "[Where|In which town|In what town] is my [home|house|flat]?", "[Which|What] town do I [live in|come from]?", *indirect("[where I live|where I come from|which town I live in|where my home is]")]),
    trait("age", lambda draw: draw.number(5, 99),
        ["[I am|I'm] {value}[ years old| years of age].", "I [turned|have turned|have just turned] {value}[ last week| this week| today|].", "I will be {value} years old.", "my years are {value}.", "I am {value} years old [now|today]."],
        ["[How|And how|So how] old am I[ now|]?", "How many years old am I?", "[What|Which] age [am I|do I have]?", "How old did I [say|tell you] I [am|was]?", "How old [should|must] you think I am?", *indirect("[how old I am|what age I am|how many years old I am]")]),
    trait("lucky number", lambda draw: draw.number(0, 999),
        ["the number {value} [brings|gives] me luck.", "the number that [brings|gives] me luck is {value}.", "I [always|often] [bet on|take|choose|play] [the number |]{value}.", "my number is {value}.", "I [like|love] the number {value}.", "the number I [like|love] is {value}."],
        ["[Which|What] number [brings|gives] me luck?", "What is my number?", "[Which|What] number do I [like|love|bet on|play]?", "[Which|What] number did I tell you?", "[Which|What] number should you remember?", "What was the number?", *indirect("[which|what] number [brings me luck|I like|I bet on]")],
        ["[Remember|Please remember|Note] the number {value}."]),
    trait("favourite food", lambda draw: draw.any(names.FOODS),
        ["I [like|love] to eat {value}[ most| best|].", "I love {value}.", "I [could|can] eat {value} [every day|all day|all the time].", "{value} is what I [like|love] to eat.", "I eat {value} [all the time|every day].", "[nothing|no food] tastes as good as {value}.", "the food I [like|love] [best|most] is {value}."],
        ["What do I [like|love] to eat[ most| best|]?", "[Which|What] food do I [like|love][ best| most|]?", "What is the food I [like|love]?", "What [could|can] I eat [every day|all day]?", *indirect("[what I like to eat|what I love to eat|which food I like]")]),
    trait("hobby", lambda draw: draw.any(names.HOBBIES),
        ["I [like|enjoy] {value}.", "in my free time I [go|like|enjoy] {value}.", "I spend my [free |]time with {value}.", "I do [a lot of|much] {value}[ in my free time|].", "{value} is what I do [for fun|in my free time].", "what I do for fun is {value}.", "I have fun with {value}."],
        ["What do I do [for fun|in my free time]?", "What do I [like to do|enjoy|enjoy in my free time]?", "How do I spend my [free |]time?", "[Which|What] hobby do I have?", *indirect("[what I do for fun|what I do in my free time|how I spend my time|which hobby I have]")]),
    trait("job", lambda draw: draw.any(names.JOBS),
        ["I [work|have work|earn my money|have a job] as a {value}.", "I am a {value}[ by profession|].", "I [became|have become] a {value}.", "[they|people] hired me as a {value}.", "I am [hired|working] as a {value}.", "my [work|profession] is that of a {value}."],
        ["What do I work as?", "What do I do for a living?", "What is my [profession|work]?", "What am I by profession?", "How do I earn my [money|living]?", "[What kind of|Which|What] work do I do?", *indirect("[what I work as|what my profession is|what I do for a living|how I earn my money]")]),
    trait("favourite drink", lambda draw: draw.any(DRINKS),
        ["I [like|love] to drink {value}[ most| best|].", "I [could|can] drink {value} [every day|all day].", "I drink {value} [every day|all the time].", "{value} is what I [like|love] to drink.", "the drink I [like|love] [best|most] is {value}."],
        ["What do I [like|love] to drink[ most| best|]?", "[Which|What] drink do I [like|love][ best| most|]?", "What [could|can] I drink [every day|all day]?", *indirect("[what I like to drink|what I love to drink|which drink I like]")]),
    trait("favourite season", lambda draw: draw.any(SEASONS),
        ["I [like|love] {value} [best|most] of all seasons.", "the season I [like|love] [best|most] is {value}.", "of all seasons I [like|love] {value} [most|best].", "no season is as [nice|good] as {value}.", "the best season is {value}[, I think|]."],
        ["[Which|What] season do I [like|love][ best| most|]?", "[Which|What] is the season [that |]I [like|love]?", *indirect("[which|what] season I [like|love]")]),
    trait("favourite city", names.town,
        ["I [like|love] the city of {value}[ best| most|].", "the city I [like|love] [best|most] is {value}.", "of all cities I [like|love] {value} [most|best].", "no city is as [nice|good] as {value}.", "the best city is {value}[, I think|]."],
        ["[Which|What] city do I [like|love][ best| most|]?", "[Which|What] is the city [that |]I [like|love]?", *indirect("[which|what] city I [like|love]")]),
    trait("car colour", lambda draw: draw.any(names.COLOURS),
        ["my car is {value}.", "I [have|drive|own] a car, and it is {value}.", "the colour of my car is {value}.", "the car I [have|drive|own] is {value}.", "{value} is the colour of my car."],
        ["[Which|What] colour [is my car|does my car have|has my car]?", "What is the colour of my car?", "[Which|What] colour is the car I [have|drive|own]?", *indirect("[which colour my car has|the colour of my car|what colour my car is]")]),
    trait("shoe size", lambda draw: draw.number(20, 50),
        ["my [shoes|feet] are size {value}.", "I [wear|take|need|have] shoes of size {value}.", "the size of my [shoes|feet] is {value}.", "I [wear|take|need|have] size {value} shoes.", "{value} is the size of my shoes."],
        ["[Which|What] size [are my shoes|of shoes do I wear|are my feet]?", "What is the size of my [shoes|feet]?", "[Which|What] size of shoe do I [wear|take|need]?", *indirect("[which size my shoes are|the size of my shoes|what size of shoe I wear]")]),
    trait("phone code", names.code,
        ["the code of my phone is {value}.", "[I|you] [open|unlock] my phone with {value}.", "my phone [opens|unlocks] with [the code |]{value}.", "the code for my phone is {value}.", "{value} is the code [of|for] my phone."],
        ["[Which|What] code [opens|unlocks] my phone?", "What is the code [of|for] my phone?", "How do [I|you] [open|unlock] my phone?", *indirect("[which code opens my phone|the code of my phone|what the code of my phone is]")]),
    trait("password", names.code,
        ["[I|you] log in with {value}.", "the password [I use|of mine|that I have] is {value}.", "I use {value} as my password.", "I [chose|have chosen|took] the password {value}."],
        ["[Which|What] password do I [use|have]?", "[Which|What] password did I choose?", "What do I log in with?", "How do I log in?", *indirect("[which password I use|what I log in with|the password I use]")]),
    called("dog", lambda draw: names.made_up(draw, 2).capitalize()), called("cat", names.person), called("sister", names.person), called("brother", names.person), called("friend", names.person), called("teacher", names.person),
    called("mother", names.person), called("father", names.person),
    trait("room number", lambda draw: draw.number(1, 999),
        ["I [stay|sleep|live|am] in room {value}.", "my room is [number |]{value}.", "they gave me room {value}.", "the number of my room is {value}."],
        ["[Which|What] room [am I in|do I sleep in|do I stay in|did they give me]?", "[In which|In what] room [am I|do I stay|do I sleep]?", "What is the number of my room?", *indirect("[which room I am in|the number of my room|in which room I sleep]")]),
    trait("order number", names.code,
        ["the number of my order is {value}.", "my order [has|got|is] [the number|number] {value}.", "I [placed|made] the order {value}.", "I am waiting for [the order|order] {value}."],
        ["What is the number of my order?", "[Which|What] number [has my order|does my order have|did my order get]?", "[Which|What] order [did I place|did I make|am I waiting for]?", *indirect("[the number of my order|which number my order has|which order I placed]")]),
    trait("street", lambda draw: names.made_up(draw, 2).capitalize() + " Street",
        ["the street I live in is {value}.", "I live on {value}.", "my house is on {value}.", "the name of my street is {value}.", "my street is called {value}."],
        ["[Which street do I live in|What street do I live in|In which street do I live|On which street do I live]?", "[What|How] is my street called?", "What is the name of my street?", "[On|In] which street is my house?", *indirect("[which street I live in|the name of my street|what my street is called]")]),
    trait("birthday month", lambda draw: draw.any(names.MONTHS),
        ["my birthday is in {value}.", "I was born in [the month of |]{value}.", "I [have my birthday|turn a year older|get older] in {value}.", "the month of my birthday is {value}."],
        ["[When|In which month|In what month] is my birthday?", "[When|In which month|In what month] was I born?", "What is the month of my birthday?", *indirect("[when my birthday is|in which month I was born|the month of my birthday]")]),
    trait("favourite day", lambda draw: draw.any(names.DAYS),
        ["I [like|love] {value} [best|most] of all days.", "the day I [like|love] [best|most] is {value}.", "of all days I [like|love] {value} [most|best].", "no day is as [nice|good] as {value}.", "the best day is {value}[, I think|]."],
        ["[Which|What] day do I [like|love][ best| most|]?", "[Which|What] is the day [that |]I [like|love]?", *indirect("[which|what] day I [like|love]")]),
    trait("favourite word", names.word,
        ["I [like|love] the word {value}[ best| most|].", "the word I [like|love] [best|most] is {value}.", "of all words I [like|love] {value} [most|best].", "no word is as [nice|good] as {value}.", "the best word is {value}[, I think|]."],
        ["[Which|What] word do I [like|love][ best| most|]?", "[Which|What] is the word [that |]I [like|love]?", *indirect("[which|what] word I [like|love]")]),
    trait("favourite animal", lambda draw: draw.any(names.PETS),
        ["I [like|love] the {value} [best|most] of all animals.", "the animal I [like|love] [best|most] is the {value}.", "of all animals I [like|love] the {value} [most|best].", "no animal is as [nice|good] as the {value}.", "the best animal is the {value}[, I think|]."],
        ["[Which|What] animal do I [like|love][ best| most|]?", "[Which|What] is the animal [that |]I [like|love]?", *indirect("[which|what] animal I [like|love]")]),
]
NOTED = "I will remember that your {noun} is {value}."
CORRECTED = "Thank you, I have changed it: your {noun} is {value}."
NOT_TOLD = "You have not told me your {noun}."


def tell(draw, trait, value):
    """The user says it."""
    text = draw.say(trait.tells, value=value)
    return Exchange([user(text[0].upper() + text[1:]), assistant(NOTED.replace("{noun}", trait.noun).replace("{value}", str(value)))])


def correct(draw, trait, value):
    """The user says it otherwise."""
    reply = CORRECTED.replace("{noun}", trait.noun).replace("{value}", str(value))
    return Exchange([user(draw.say(trait.corrections, value=value)), assistant(reply)])


def ask(draw, trait, value):
    """The user asks for it."""
    return Exchange([user(draw.say(trait.asks)), assistant(trait.known(value))], one_word(value))


def one_word(value):
    """The value where it is one word."""
    return str(value) if " " not in str(value) else None


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
            before.append(ask(draw, trait, values[trait.noun]))
    return question(draw, asked, values[asked.noun], before)


def question(draw, trait, value, before):
    """Asks for a trait after what was told of it."""
    last = ask(draw, trait, value)
    return Episode("recall", last.turns, {"contains": [str(value)]}, before=before, short=last.short)


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


RECAPS = [
    "What do you [still |]know [about|of] me[ so far| by now|]?",
    "What [did I tell|have I told] you[ about me| of me| so far| by now|]?",
    "What do you [still |]remember[ about me| of me|]?",
    "[Repeat|Please repeat|Say again|Sum up|Please sum up|List|Please list] what [I told you|I said about me|I have told you|you know about me|you know of me|you remember of me].",
    "[Tell me|Please tell me|Say] [all|what|everything] you [know|remember] [about|of] me.",
    "[Can|Could] you [repeat|sum up|list|tell me] what [I told you|you know about me|you remember of me]?",
]


def episode(draw):
    """Any of them."""
    return draw.any([story] * 6 + [not_told, recap])(draw)
