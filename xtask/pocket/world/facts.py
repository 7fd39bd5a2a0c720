"""Facts from tables, and the admission that something is not in them."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from . import names
from .dialogue import Exchange, ask
from .refusals import IDK

TABLES = Path(__file__).parent / "tables"

WHAT = "[What is|What's|what is|what's|And what is|So what is] "
GIVE = "[Tell me|Please tell me|tell me|Name|Please name|Give me|Please give me|give me|Say|I need|I want to know|I'd like to know|I would like to know] "
KNOW = "[Do you know|do you know|Can you tell me|can you tell me|Could you tell me|Can you say|Could you say] "
TELL = "[Tell me|Please tell me|tell me|Say|Please say|I want to know|I'd like to know|I would like to know|I wonder] "
WHICH = "[Which|What|which|what|And which|And what] "
DOES = "[does a|does the|does one|does any] {x} "


def about(*nouns):
    """The ways to ask for what a noun stands for."""
    noun = f"[{'|'.join(nouns)}]"
    return [f"{WHAT}{noun}?", f"{GIVE}{noun}[.||, please.]", f"{KNOW}{noun}?"]


def wonder(*clauses):
    """The ways to put a question into another sentence."""
    clause = f"[{'|'.join(clauses)}]"
    return [f"{TELL}{clause}[.|]", f"{KNOW}{clause}?"]


CAPITAL = [*about("the capital[ city|] of {x}", "{x}'s capital[ city|]"), *wonder("what the capital[ city|] of {x} is", "which city is the capital of {x}", "what {x}'s capital is"),
    WHICH + "[city|town] is [the capital[ city|] of {x}|{x}'s capital[ city|]]?", "[The|the] capital[ city|] of {x} is[ what| which city| called what|]?", "{x}: what is [its|the] capital[ city|]?", "How is [the capital[ city|] of {x}|{x}'s capital] called?",
    "[Capital|capital|The capital|Capital city|capital city] of {x}[?|, please| please|]", "{x}[, | ][capital|capital city][?|, please]", "[What is the capital[ city|] of {x} called|What do [you|people] call the capital[ city|] of {x}]?", WHICH + "capital[ city|] [does {x} have|has {x}]?"]
COUNTRY = [*about("the [country|land] [whose capital[ city|] is {x}|that has {x} as its capital[ city|]|with the capital[ city|] {x}]"),
    *wonder("[which|what] [country|land] has [the capital[ city|] {x}|{x} as its capital[ city|]]", "[which|what] [country|land] {x} is the capital[ city|] of", "of [which|what] [country|land] {x} is the capital"),
    "{x} is the capital[ city|] of [which country|what country|which land|what]?", "[Of|For] [which|what] [country|land] is {x} the capital[ city|]?", WHICH + "[country|land] has [{x} as its capital[ city|]|the capital[ city|] {x}]?",
    WHICH + "country's capital[ city|] is {x}?", WHICH + "[country|land] is {x} the capital[ city|] of?", "To [which|what] [country|land] does the capital[ city|] {x} belong?", "[The capital[ city|] |]{x} [belongs to|is in] [which|what] [country|land]?"]
CONTINENT = [*about("the continent of {x}", "{x}'s continent", "the continent [where|on which] {x} is"), *wonder("where[ in the world|] {x} is", "[which|what] continent {x} is [on|in]", "on [which|what] continent {x} is"),
    "[On|on|In] [which|what] continent [is {x}[ located|]|does {x} lie|do I find {x}|can I find {x}]?", WHICH + "[continent|part of the world] [is {x} [in|on]|does {x} [belong to|lie in]]?",
    "[Where|where|And where] [in the world |on earth |]is {x}[ located|]?", "[Where's|where's] {x}?", "[In|To] [which|what] part of the world [is|lies] {x}?", "{x} is [on|in|part of] [which|what] [continent|part of the world]?",
    "[Where|where] [do|can|would] I find {x}[ on the map|]?", "{x}[, |: ][which|what] continent?", "To [which|what] continent does {x} belong?", "[Continent|continent] of {x}?", "In [which|what] part of the world [is|lies|do I find] {x}?"]
CURRENCY = [*about("the currency [of|in|used in] {x}", "{x}'s currency", "the money [of|in|used in] {x}"), *wonder("[which|what] [currency|money] {x} [uses|has]", "what people [pay with|use as money] in {x}", "what the [currency|money] of {x} is"),
    WHICH + "[currency|money] [does {x} [use|have]|do [people|they] use in {x}|is used in {x}|do I need in {x}|do I pay with in {x}]?", "[With [which|what] [currency|money]|What with] do [I|people|they|you] pay in {x}?",
    "[What|what] do [people|they|I|you] [pay with|use as money] in {x}?", "[What|How] is the [money|currency] [in|of] {x} called?", "[Currency|currency|Money|money] [of|in] {x}[?|, please|]", "{x}[, |: ][which|what] [currency|money]?"]
KIND = [WHICH + "[kind|sort|type|class] of [animal|animals] is [a|the|any] {x}?", *wonder("[which|what] [kind|sort|type|class] of animal [a|the] {x} is", "what [a|the] {x} is"), *about("the [class|kind|type|sort] of [animal|animals] [a|the] {x} belongs to"),
    "[What|what|So what|And what] is [a|the] {x}?", "[What's|what's] [a|the] {x}?", "[Is|is] [a|the] {x} a [mammal|fish|bird|reptile], [a bird|a fish|an insect|a mammal] or something else?",
    "To [which|what] [class|kind|type|sort] of [animals|animal] does [a|the] {x} belong?", "[A|The] {x} is [which|what] [kind|sort|type|class] of animal?", "[A|The] {x} belongs to [which|what] [class|kind|type|sort] of [animals|animal]?", "{x}: [which|what] [kind|sort|type|class] of animal?"]
LEGS = ["[How many|how many|And how many|So how many] legs [" + DOES + "have|has [a|the|one] {x}|does a {x} have[ in all|]|are there on [a|the|one] {x}|do you count on [a|one] {x}|can I count on [a|one] {x}]?", *about("the number of legs [of|on] [a|the|one] {x}", "the number of legs [a|the|one] {x} has"),
    *wonder("how many legs [a|the|one] {x} has", "how many legs there are on [a|one] {x}", "on how many legs [a|the] {x} walks"), "[A|The|One|a|the|one] {x} has how many legs[ in all|]?", "[On|on] how many legs [does [a|the] {x} [walk|stand|go]|can [a|the] {x} walk]?", "[Legs|legs|Number of legs|number of legs] [of|on] [a|the|one] {x}[?|]"]
YOUNG = [*about("the [name|word] [for|of] a [young|baby|little] {x}"), *wonder("[what|how] a [young|baby|little] {x} is called", "what [you|people] call a [young|baby|little] {x}", "which word means a [young|baby|little] {x}"),
    "[What|what|How|And what] is a [baby|young|little] {x} called?", "[What|what|And what] do [you|we|people|they] call a [baby|young|little] {x}?", "What [is|are] the [young|little ones|babies] of [a|the] {x} called?", "What['s| is] a [little|young|baby] {x} called?",
    "[Which|What] [word|name] [means|is used for|stands for] a [young|baby|little] {x}?", "A [young|baby|little] {x} is called[ what|]?", "[Name|Word|name|word] for a [baby|young|little] {x}?"]
SOUND = [WHICH + "[sound|noise] [" + DOES + "make|comes from [a|the] {x}|do you hear from [a|the] {x}]?", *about("the [sound|noise] [of|from] [a|the] {x}", "the [sound|noise] [a|the] {x} makes"), *wonder("[which|what] [sound|noise] [a|the] {x} makes", "how [a|the] {x} sounds", "what [a|the] {x} says"),
    "[What|what] [does|would] [a|the] {x} [do to make a [sound|noise]|say]?", "[How|how|And how] does [a|the|one] {x} sound?", "[A|The|a|the] {x} makes [which|what] [sound|noise]?", "[Sound|sound|Noise|noise] of [a|the] {x}?"]
SYMBOL = [*about("the [chemical |][symbol|sign] [of|for][ the element|] {x}", "{x}'s[ chemical|] [symbol|sign]"), *wonder("[which|what] [chemical |][symbol|sign] {x} has", "what the [chemical |][symbol|sign] of {x} is", "how {x} is written in chemistry"),
    WHICH + "[chemical |][symbol|sign] [does[ the element|] {x} have|has {x}|is used for {x}|stands for {x}]?", "[How|how] [is {x} written|do chemists write {x}|do you write {x}|do I write {x}] in chemistry?", "How do chemists [write|abbreviate] {x}?",
    "[Symbol|symbol|Sign|Chemical symbol|chemical symbol|Chemical sign] [of|for][ the element|] {x}[?|]", "The [chemical |][symbol|sign] [of|for] {x} is[ what|]?"]
ELEMENT = [*about("the [chemical |]element with the [chemical |][symbol|sign] {x}", "the [chemical |]element [called|written] {x}"), *wonder("[which|what] [chemical |]element [has the [symbol|sign] {x}|{x} is|{x} stands for]", "what [the [chemical |]symbol |]{x} [means|stands for] in chemistry"),
    WHICH + "[chemical |]element [has the [chemical |][symbol|sign] {x}|is {x}|is written {x}|does {x} stand for|does the [symbol|sign] {x} stand for]?", "The [chemical |][symbol|sign] {x} [stands for|means|belongs to] [which|what] [chemical |]element?",
    "What does the [chemical |][symbol|sign] {x} [mean|stand for]?", "What does {x} [mean|stand for] in chemistry?", "[For|for] [which|what] [chemical |]element does [the symbol |]{x} stand?", "{x} is the [chemical |][symbol|sign] of [which|what] element?"]
NUMBER = [*about("the [atomic number|number of protons] of[ the element|] {x}", "{x}'s [atomic number|number of protons]", "the number of {x} in the periodic table"), *wonder("[which|what] [atomic number|number in the periodic table] {x} has", "how many protons {x} has", "what the atomic number of {x} is"),
    WHICH + "atomic number [does[ the element|] {x} have|has {x}|belongs to {x}]?", WHICH + "[number|place] does[ the element|] {x} have in the periodic table?", "[At|In] [which|what] place of the periodic table is[ the element|] {x}?",
    "[How many|how many|And how many] protons [does[ the element|] {x} have|has[ the element|] {x}|are in {x}|are there in {x}]?", WHICH + "number is the element {x}[ in the periodic table|]?", "[Atomic number|atomic number|Number of protons|number of protons] of[ the element|] {x}[?|]"]
OPPOSITE = [*about("the [exact |]opposite of[ the word|] {x}", "the [exact |]contrary of[ the word|] {x}"), *wonder("what the [exact |][opposite|contrary] of {x} is", "[which|what] word is the [opposite|contrary] of {x}", "[which|what] word means the [opposite|contrary] of {x}"),
    WHICH + "word [is|means] the [exact |][opposite|contrary] of[ the word|] {x}?", "[What|what] means the [exact |][opposite|contrary] of {x}?", "[The|the] [exact |][opposite|contrary] of {x} is[ what| which word|]?", "[Opposite|opposite|Contrary|contrary|The opposite|the opposite] of[ the word|] {x}[?|, please|]",
    "{x} is the [opposite|contrary] of [what|which word]?", "{x}[, |: ][what is |]the [opposite|contrary]?"]
PLURAL = [*about("the plural[ form|] of[ the word|] {x}", "{x} in the plural", "the plural[ form|] for {x}"), *wonder("what the plural[ form|] of {x} is", "what more than one {x} [are|is] called", "how [to|I|you] say {x} in the plural"), "One {x}, [two|three|many] what?", "[If this is one|This is one] {x}, what are [two|three|many]?",
    "[How|how] [do|would|does] [you|I|people] [say|write] {x} in the plural?", "[What|what] do [you|we|people] call [more than one|two|many] {x}?", "[The|the] plural[ form|] of[ the word|] {x} is[ what|]?", "[Plural|plural|The plural|Plural form|plural form] of[ the word|] {x}[?|, please|]",
    "[What|How] are [more than one|two|many] {x} called?", WHICH + "word is the plural[ form|] of {x}?"]
MIXTURE = [WHICH + "[colour|paint] do [{x} make[ together|]|[I|you|we] get [from|of|out of|by mixing|when [I|you|we] mix] {x}]?", *about("the colour that {x} make[ together|]", "the [mix|mixture] of {x}", "the colour of {x}[ mixed| together]"), *wonder("[which|what] colour {x} make[ together|]", "[which|what] colour [I|you] get from {x}"),
    "[What|what] do {x} [make|give|become][ together| when they are mixed| when mixed|]?", "[What|what] [happens|do I get|do you get] [when|if] [you|I|we] mix {x}?", "[Mix|mix] {x}: [which|what] colour [is that|do I get|do you get|is it]?", "[If|When|if|when] [I|you|we] mix {x}, [which|what] colour [do I get|is it|is that]?",
    "[What|what] is {x} mixed[ together|]?", WHICH + "colour [are|is] {x} [when they are mixed|when mixed|mixed together]?", "[What|what] are {x} when [you|we|I] mix them?", "{x} mixed[ together|] [is|make|are] [which|what] colour?"]
SIDES = ["[How many|how many|And how many|So how many] [sides|corners|edges] [" + DOES + "have|has [a|the|one] {x}|are there in [a|the] {x}|can I count on [a|the] {x}]?", *about("the number of [sides|corners|edges] of [a|the|one] {x}", "the number of [sides|corners|edges] [a|the|one] {x} has"), *wonder("how many [sides|corners|edges] [a|the|one] {x} has"),
    "[A|The|One|a|the|one] {x} has how many [sides|corners|edges]?", "[Count|Please count|count] the [sides|corners|edges] of [a|the|one] {x}[.||, please.]", "[Sides|sides|Corners|corners|Edges|edges|Number of sides|number of sides] of [a|the] {x}[?|]"]


def beside(unit, order, today):
    """The ways to ask for the day or month beside another."""
    comes, behind = ("[comes after|comes next after|comes right after|is after|follows]", "[after|right after]") if order > 0 else ("[comes before|comes right before|is before|precedes]", "[before|right before]")
    word = "After" if order > 0 else "Before"
    return [f"{WHICH}{unit} {comes} {{x}}?", *about(f"the {unit} {behind} {{x}}", f"the {unit} that {comes} {{x}}"), *wonder(f"[which|what] {unit} {comes} {{x}}", f"what the {unit} {behind} {{x}} is"), *today,
        f"[{word}|{word.lower()}|Right {word.lower()}] {{x}} comes [which|what] {unit}?", f"[{word}|{word.lower()}|Right {word.lower()}] {{x}}, [which|what] {unit} [comes|is it]?", f"[The|the] {unit} {behind} {{x}}[ is what|]?"]


DAY_AFTER = beside("day", 1, ["Today is {x}. [[Which|What|which|what] day is|What is|What's|what is] tomorrow?", "[If|When|if] [today is {x}|it is {x}[ today|]], [what is|what's|which day is|what day is|what day is it] tomorrow?", "It is {x}[ today|]. [Which|What] day is tomorrow?", "[What|Which] day is tomorrow, if today is {x}?"])
DAY_BEFORE = [*beside("day", -1, ["Today is {x}. [[Which|What|which|what] day was|What was|what was] yesterday?", "[If|When|if] [today is {x}|it is {x}[ today|]], [what was|which day was|what day was|what day was it] yesterday?", "It is {x}[ today|]. [Which|What] day was yesterday?", "[What|Which] day was yesterday, if today is {x}?"]),
    "[What|Which] day was it the day before {x}?"]
MONTH_AFTER = beside("month", 1, ["It is {x}[ now|]. [What is|Which is|What's] [the |]next month?", "[If|When|if] it is {x}[ now|], [what is|which is|what's] [the |]next month?", "This month is {x}. [What|Which] month is next?", "[What|Which] month is next, if it is {x}[ now|]?"])
MONTH_BEFORE = beside("month", -1, ["It is {x}[ now|]. [What|Which] was [the |]last month?", "[If|When|if] it is {x}[ now|], [what|which] was [the |]last month?", "This month is {x}. [What|Which] month was last?", "[What|Which] month was last, if it is {x}[ now|]?"])

UNKNOWN = ["[Who|Which team|Which side] [won|lost] the [football |chess |tennis |]match [yesterday|last night|in {t}|last week]?", "[How many people live|Who lives] in {t}?", "[Who is|Who was|Who's|Can you tell me who is|Do you know who is] the [mayor|president|king|queen|boss|owner|bishop] of {t}?",
    "[Who|Which author] wrote the [book|play|song|article] about {w}?", "[When|In which year|Which year|On which date] [was {p}[ {q}|] born|did {p} {q} [die|marry|retire]]?", "[[Who is|Who was|Who's|What do you know about|Have you heard of] {p} {q}?|Tell me about {p} {q}.]",
    "[How old|How tall|How high|How big|How wide] is the [bridge|church|museum|tower|castle|station] [in|of] {t}?", "[What is|What's|Can you tell me|Do you know] the price of [a|one|the] {w}[ in {t}|]?", "What did {p} {q} [invent|discover|write|paint|build|win|say]?", "[Who|Which person|Can you tell me who|Do you know who] [invented|discovered|found|built] the {w}?",
    "[When|In which year] did the [war|battle|siege] of {t} [end|begin|start]?", "[What is|What's|Can you tell me|Do you know] the [population|size|area|history] of {t}?", "How far [is [it from |]{t} from {u}|is it from {t} to {u}|are {t} and {u} apart]?", "What is the distance [between {t} and {u}|from {t} to {u}]?",
    "[What is|What's|Can you tell me|Do you know] the meaning of {m}?", "[What does|What did] {m} mean?", "Who [painted|drew|took] the [picture|painting|portrait] of the {w}?", "[Which|What] [team|club|school|hotel|restaurant|museum] is the best in {t}?", "What was [on the news|in the paper|on television] [today|yesterday]?",
    "Which [song|film|book] is number one[ now| today|]?", "How [do|can] I [fix|repair|clean] my {w}?", "Who [discovered|invented|founded|owns] {m}?", "Where [was|is] {p} {q} [born|buried|now]?", "[What is|What's|Can you tell me] the [phone number|address|birthday] of {p}[ {q}|]?", "What is the recipe for {m}?",
    "[What|How much] does [one|a|the] {w} cost[ in {t}|]?", "How [tall|rich|famous|old] is {p} {q}?", "[Who|Do you know who] [wrote|made up] [Faust|Don Quixote|the Odyssey]?", "[Who|Do you know who] painted [the Night Watch|the Scream|Guernica]?",
    "[Who|Can you tell me who] [was|is] [Napoleon|Mozart|Cleopatra|Julius Caesar|Isaac Newton|Gandhi|Beethoven]?", "Who [discovered|found] [Australia|penicillin|X-rays|electricity]?", "When did [the cold war|the French revolution] [end|begin|start]?", "When did [Rome|Troy|the Berlin Wall] fall?",
    "[What is|What's|Can you tell me] the [speed of sound|mass of the moon|mass of the earth|weight of the earth]?", "[[What is|What's] [a black hole|a molecule|love|jazz|bitcoin|the stock market|inflation|a virus|a gene|a quark|democracy|a galaxy]|Can you tell me what [a black hole|a molecule|love|jazz|bitcoin|the stock market|inflation|a storm|a gene|a quark|democracy|a galaxy] is|Do you know what [jazz|bitcoin|a virus|love] is]?",
    "How [does|can] a [computer|phone|battery|fridge|rocket|telescope|car|radio] [work|function]?", "How do [birds|planes|rockets|kites] [fly|stay in the air]?", "Why [do cats purr|do we dream|do leaves fall|is the sea salty|do stars shine|do dogs bark at night|do people yawn]?",
    "Who is the [president|chancellor|prime minister|king|queen|leader] of [France|Germany|Italy|Spain|Japan|Brazil|Canada]?", "Who is the [pope|richest person on earth|oldest person alive|best singer|tallest man|fastest runner]?", "How many people live [in Paris|in [Germany|France|Japan|China]|in London]?",
    "How far [away is|is it to] the [nearest star|north pole]?", "How [old|heavy|big] is the [earth|moon|sun|universe]?", "How [deep|salty|cold] is the [sea|ocean|well]?", "How long is the [Rhine|Great Wall|Amazon]?", "[Which|What] is the [largest city|deepest lake|tallest building|oldest city]?",
    "Who won the [world cup|Nobel prize|last election|gold medal|song contest][ last year| in {t}|]?", "Who sang [Yesterday|Imagine|Thriller|Hey Jude]?", "[What|Which] is the best [film|song|book|phone|game|beer]?", "Which [car|plane|train|ship|horse] is the [fastest|slowest|cheapest|safest]?",
    "How [heavy|fast|tall|clever] is [an elephant|a train|a whale|a horse|a plane|a giraffe]?", "What do [lions|owls|whales|pandas|snails|bats] eat?", "Where do [penguins|pandas|tigers|camels|koalas] live?", "How old can a [turtle|parrot|horse|tree|whale] [get|become]?", "[What|Which] year is it[ now|]?",
    "What day is today?", "Which date is it[ today|]?", "What happened in [1989|1066|1492|1815]?", "What happened in {t}[ yesterday| last year|]?", "How do [you|I] [bake|slice|store] bread?", "How do [you|I] play [chess|poker|bridge|golf|tennis]?", "How do [you|I] [make|brew] [soap|wine|glass|paper|beer]?"]
UNKNOWN = [re.sub(r"^(Who|What|How|Why|When|Where|Which) ", lambda word: f"[{word[1]}|{word[1]}|{word[1].lower()}|And {word[1].lower()}|So {word[1].lower()}] ", question) for question in UNKNOWN]

@cache
def table(name):
    """The rows of a table: a key and its values."""
    lines = (TABLES / f"{name}.txt").read_text().splitlines()
    rows = [line.split(": ", 1) if name == "popular" else line.rsplit(": ", 1) for line in lines if line and not line.startswith("#")]
    return [(key, values.split(", ") if name not in ("single", "popular") else [values]) for key, values in rows]


def article(name):
    """The name of a country in the middle of a sentence."""
    return f"the {name}" if name in ("Netherlands", "Philippines", "United Kingdom", "United States") else name


def an(text):
    """The text with the right article before a vowel."""
    return re.sub(r"\b([Aa]) (?=[aeio])", r"\1n ", text)


def plain(draw, templates, x, answer, key):
    """One fact: the reply is a sentence that contains the key."""
    short = key if " " not in key else None
    return ask("facts", an(draw.say(templates, x=x)), an(answer), short=short, contains=[key])


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


# The same question of something else, in a word or two.
AND = ["[and|And|what about|What about|how about|How about|and what about|and of|and in|ok and|and for|and now] {x}[?||.]", "{x}?", "[and|And] [that of|the one of|the same for|the same of] {x}[?|]"]


def follow(draw):
    """A question of a country, and the same of another."""
    (first, told), (second, asked) = (draw.any(table("countries")) for _ in range(2))
    templates, column, sentence = draw.any([(CAPITAL, 0, "The capital of {x} is {y}."), (CAPITAL, 0, "The capital of {x} is {y}."), (CONTINENT, 1, "{x} is in {y}."), (CURRENCY, 2, "The currency of {x} is the {y}.")])

    def answer(name, row):
        text = sentence.replace("{x}", article(name)).replace("{y}", row[column])
        return text[0].upper() + text[1:]

    episode = plain(draw, AND, article(second), answer(second, asked), asked[column])
    before = plain(draw, templates, article(first), answer(first, told), told[column])
    return replace(episode, before=[Exchange(before.turns, before.short)])


def animal(draw):
    """Something of an animal."""
    name, (kind, legs, young) = draw.any(table("animals"))
    return draw.any([
        lambda: plain(draw, KIND, name, f"A {name} is a {kind}.", kind),
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
        (names.MONTHS, MONTH_BEFORE, -1, "{y} comes before {x}."),
    ])
    place = draw.number(0, len(circle) - 1)
    x, y = circle[place], circle[(place + step) % len(circle)]
    return plain(draw, templates, x, sentence.replace("{x}", x).replace("{y}", y), y)


def single(draw):
    """A fact that stands alone, with a few ways to ask for it."""
    questions, (answer,) = draw.any(table("single"))
    return ask("facts", draw.say(questions.split(" | ")), answer, equals=answer)


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
