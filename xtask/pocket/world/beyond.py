"""What the model politely does not do: it is tiny, and says so."""

from . import names
from .arithmetic import DIFFERENCES, SUMS
from .dialogue import ask
from .refusals import CANNOT

TASKS = [
    # Texts
    "[Write|Please write|Make up|Please make up] [me |][a|one] [poem|story|song|novel|letter|speech|report|long text|fairy tale] about {w}.",
    "[Write|Please write] [me |]an essay about {w}.",
    "[Can|Could|Will|Would] you write [me |]a [poem|story|song|novel|letter|speech|report|long text|fairy tale] [about|on] {w}?",
    "I [want|need|would like] a [poem|story|song|letter|speech|report|long text|fairy tale] about {w}.",
    "[Tell|Please tell] me a [long |short |nice |][story|fairy tale][ about {w}|][.|, please.]",
    "[Can|Could] you tell me a [long |short |nice |][story|fairy tale][ about {w}|]?",
    "[Compose|Write|Please compose] a [song|melody|nice song] [about|for] [{w}|{p}].",
    "[Summarise|Sum up|Please sum up|Please summarise] [this|the|my] [book|article|film|letter] for me.",
    "[Translate|Please translate] [this|the|my] [letter|book|page|poem|text|story] [to|into] [French|German|Spanish|Italian|Latin].",
    "[Can|Could|Will] you translate [this|the|my] [letter|book|page|poem|text|story] into [French|German|Spanish|Italian|Latin]?",
    # Code
    "[Write|Please write|Write me] a [small |long |][Python|Rust|Java|C] [program|function] [for|that sorts] {w}.",
    "[Write|Please write|Write me] some [Python |Rust |Java |C |]code [for|that sorts] {w}.",
    "[Can|Could|Will] you write [a|me a] [Python |Rust |Java |C |][program|function] for {w}?",
    "[Fix|Please fix|Find|Please find] the [bug|bugs|mistake] in my [code|program|function].",
    "[Can|Could] you [fix|find] the [bug|bugs|mistake] in my [code|program|function]?",
    # Proofs
    "[Prove|Please prove|Show me the proof] that there is no largest [prime|number][.|, please.]",
    "Solve this equation[ for me|]: {a}x = {b}.",
    "[Please solve this|Please solve the|Solve the] equation: {a}x = {b}.",
    "[What is the meaning of life?|Explain the meaning of life.|Tell me the meaning of life.]",
    "Debate [the death penalty|war|peace|philosophy] with me.",
    # Advice
    "[Give me|I need|I want|Please give me|I would like] [medical|legal|financial|good|some] advice[ about {w}| on {w}|].",
    "[Can|Could] you give me [medical|legal|financial|good|some] advice[ about {w}|]?",
    "What should I [cook|wear|read|study|buy][ today| tomorrow|]?",
    "Should I [marry|call|trust|visit|love] {p}?",
    "[Which|What] [shares|book|car|house] should I buy?",
    "How [do|can] I become [rich|famous]?",
    "[Give me|Please give me|I need|I want] a recipe [for|with] {w}.",
    "[Plan|Please plan] [a|my] [trip|visit|holiday] to {t}[ for me|].",
    "[Can|Could] you plan [a|my] [trip|visit|holiday] to {t}[ for me|]?",
    # Predictions
    "Who will win the [election|match|game|race][ tomorrow| in {t}|]?",
    "[What will|How will] the weather be[ tomorrow| in {t}| next week|]?",
    "Will it rain[ tomorrow| in {t}| next week|]?",
    "[Predict|Tell me|Please predict|Please tell me] [the|my] future.",
    "[Can|Could] you [predict|tell me] [the|my] future?",
    "Will I [be rich|be famous|win the game|marry {p}]?",
    # Things done in the world
    "[Draw|Please draw|Paint|Please paint][ me|] a picture of [{w}|{p}|{t}].",
    "[Can|Could] you [draw|paint] a picture of [{w}|{p}|{t}]?",
    "[Send|Please send|Write] a [mail|letter|message] to {p}.",
    "[Can|Could|Will] you [send a mail to|send a message to|call] {p}[ for me|]?",
    "[Call|Please call] {p}[ for me| now|].",
    "[Set|Please set] an alarm for {a}.",
    "[Can|Could] you set an alarm for {a}?",
    "[Turn|Please turn] [on|off] the [light|music|heating|oven].",
    "[Can|Could|Will] you turn [on|off] the [light|music|heating|oven]?",
    "[Open|Close|Please open|Please close] the [window|door|gate].",
    "[Can|Could|Will] you [open|close] the [window|door|gate]?",
    "[Play|Please play] [some music|a song|a film][ for me| now|].",
    "[Order|Please order] [a pizza|a book|some food][ for {p}| for me|].",
    "[Book|Please book] [a flight to|a trip to|a hotel in|a table in] {t}[ for me|].",
    "[Can|Could] you book [a flight to|a trip to|a hotel in|a table in] {t}[ for me|]?",
    "[Clean|Please clean|Paint|Please paint] my [house|room|car|kitchen].",
    "[Make|Cook|Please make|Please cook] [me |][some food|some soup|a cake].",
]

# Products and roots, of numbers beyond the table.
PRODUCTS = [
    "[What is|What's|How much is|How many are] {a} [times|multiplied by] {b}?",
    "[Calculate|Work out|Please work out|Tell me] {a} [times|multiplied by|divided by] {b}.",
    "[What is|What's|How much is] {a} divided by {b}?",
    "[What is|What's|How much is] {a} [*|/] {b}[?|]",
    "[Multiply|Please multiply|Divide|Please divide] {a} by {b}.",
    "[Can|Could] you [multiply|divide] {a} by {b}[ for me|]?",
    "[Tell me|Give me|Work out|Please work out] the [square root|square] of {a}.",
    "[What is|What's] the [square root|square] of {a}?",
]


def episode(draw):
    """A request that goes too far."""
    if draw.chance(0.15):
        return long_sum(draw)
    if draw.chance(0.15):
        return ask("beyond", draw.say(PRODUCTS, a=draw.number(13, 99), b=draw.number(13, 99)), CANNOT)
    fields = {"w": names.word(draw), "t": names.town(draw), "p": names.person(draw), "a": draw.number(2, 99), "b": draw.number(2, 99)}
    return ask("beyond", draw.say(TASKS, **fields), CANNOT)


def long_sum(draw):
    """A sum of more digits than the model can do."""
    a, b = draw.number(1000, 99999), draw.number(1, 99999)
    question = draw.say(draw.any([SUMS, DIFFERENCES]), a=max(a, b), b=min(a, b), things=draw.any(names.FRUITS))
    return ask("beyond", question, CANNOT)
