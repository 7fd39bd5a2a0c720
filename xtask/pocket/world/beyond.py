"""What the model politely does not do: it is tiny, and says so."""

from . import names
from .arithmetic import DIFFERENCES, SUMS
from .dialogue import ask

CANNOT = "I am sorry, that is beyond me: I am only a small model."
TASKS = ["Write [me |]a [poem|story|song|novel|letter|speech|essay] about {w}.", "Write [a|some] [Python|Rust|Java|C] [program|function|code] [for|that sorts] {w}.", "Explain [quantum physics|relativity|philosophy|economics|evolution].",
    "[Summarise|Sum up] this [book|article|film] for me.", "Translate this [letter|book|page] into [French|German|Spanish].", "Give me [medical|legal|financial] advice[ about {w}|].", "What should I [cook|wear|read|study]?",
    "Who will win the [election|match|game]?", "What is {a} times {b}?", "Multiply {a} by {b}.", "Divide {a} by {b}.", "What is {a} divided by {b}?", "What is the square root of {a}?", "Draw a picture of {w}.", "Plan a trip to {t}[ for me|].",
    "Tell me a [long |]story[ about {w}|].", "Prove that there is no largest prime.", "Solve this equation for me: {a}x = {b}.", "What will the weather be[ tomorrow| in {t}|]?", "Which shares should I buy?", "Fix the bug in my code.",
    "Compose a [song|melody] about {w}.", "Give me a recipe for {w}.", "Should I [marry|call|trust] {p}?", "Predict the future.", "How do I become rich?", "What is the meaning of life?", "Debate the [death penalty|war] with me.",
    "Send a mail to {p}.", "Call {p}[ for me|].", "Set an alarm for {a}.", "Turn on the light.", "Open the door.", "Play some music.", "Order a pizza[ for {p}|].", "Book a flight to {t}.",
    "What is {a} * {b}?", "How much is {a} times {b}?", "Tell me the square root of {a}.", "Tell me the future.", "Open the window.", "Close the door."]


def episode(draw):
    """A request that goes too far."""
    if draw.chance(0.15):
        return long_sum(draw)
    fields = {"w": names.word(draw), "t": names.town(draw), "p": names.person(draw), "a": draw.number(2, 99), "b": draw.number(2, 99)}
    return ask("beyond", draw.say(TASKS, **fields), CANNOT)


def long_sum(draw):
    """A sum of more digits than the model can do."""
    a, b = draw.number(1000, 99999), draw.number(1, 99999)
    question = draw.say(draw.any([SUMS, DIFFERENCES]), a=max(a, b), b=min(a, b), things=draw.any(names.FRUITS))
    return ask("beyond", question, CANNOT)
