"""Addition, subtraction and comparison of whole numbers of up to three digits, at once or column by column."""

from .dialogue import ask
from .names import FRUITS
from .orders import orders

WHAT_IS = "[What is|What's|How much is|And what is|So what is|Now, what is|Then how much is]"
TELL = "[Do you know|Can you tell me|Could you tell me|Can you say]"
LET_ME_KNOW = "[Tell me|Please tell me|Let me know|I want to know|I need to know]"
WHAT = "[what|how much]"

# What stories are about: people with their pronouns, and where things are.
SHE = "[She|My sister|My mother|My aunt|Rosa|Linda|Our farmer|The pilot]"
HE = "[He|My brother|My father|My uncle|Tim|Paul|Our baker|The teacher]"
THEY = "[They|The children|My friends|The neighbours|My parents]"
HERE = "[here|in the box|on the table|in the bag|in the shop|in the kitchen]"
BOX = "[box|bag|basket|drawer]"
SOON = "[ and|. Then I|. I]"
MANY = "How many[ {things}|]"
IN_ALL = "[ now| in all| in total| altogether|]"
TOGETHER = "[ together| in all| in total| altogether]"

PLUS = "{a}[ + |+| plus ]{b}"
SPOKEN_PLUS = "{a}[ + | plus ]{b}"
ADDING = "[add {b} to {a}|add {a} and {b}|add up {a} and {b}|put {a} and {b} together|sum up {a} and {b}]"
GET = "[buy|find|get|receive|collect]"
GETS = "[buys|finds|gets|receives|collects|is given]"
GOT = "[bought|found|got|received|collected|picked up]"
WAS_GIVEN = "[bought|found|got|received|collected|was given]"
A_SUM = f"[{SPOKEN_PLUS} is|{{a}} and {{b}} make[ together|]|the [sum|total] of {{a}} and {{b}} is]"
SUMS = [
    "{a}[ + |+]{b}[| =|=| = ?|?]",
    "{a} plus {b}[|?| is what?| makes?| equals?| is?| makes what?| equals what?| is how much?]",
    f"{WHAT_IS} {PLUS}[?|]",
    orders("calculate|compute|work out|solve|find", PLUS),
    orders("give me|tell me", PLUS),
    f"[Solve|Answer|Calculate|Compute|Work this out|A sum for you]: {PLUS}[|?|.]",
    orders("add|add up|sum up|add together", "[|the numbers ]{a} and {b}"),
    orders("add", "{b} to {a}"),
    orders("put", "{a} and {b} together"),
    orders("tell me|give me", "the [sum|total] of {a} and {b}"),
    orders("find|calculate|compute|work out", "the [sum|total] of {a} and {b}"),
    "[What is|What's|How much is|And what is|So what is] the [sum|total] of {a} and {b}[?|]",
    "[Sum|The sum|Total|The total] of {a} and {b}[?|, please.|]",
    "[What|How much] do {a} and {b} [make|give|add up to|come to][ together| in all|]?",
    f"What do [I get when I|I get if I|you get when you|you get if you|we get when we|we get if we] {ADDING}?",
    f"[If|When] [I|we|you] {ADDING}, {WHAT} [is that|is it|does that make]?",
    f"[If|When] I {ADDING}, what do I get?",
    f"[I|We] {ADDING}. [What|How much] [is that|is it|does that make]?",
    f"[What|How much] does {SPOKEN_PLUS} [make|give|equal|come to]?",
    f"{SPOKEN_PLUS} [is|makes|gives|equals] {WHAT}?",
    f"{{a}} and {{b}}[ together| in all| added up| in total] [is|are|make] {WHAT}?",
    "[What|How much] [is|are] {a} and {b} [together|in all|added up|added together|in total]?",
    f"{TELL} {WHAT} {A_SUM}?",
    f"{LET_ME_KNOW} {WHAT} {A_SUM}[.|]",
    f"How many[ {{things}}|] are {{a}} {{things}} [and|plus] {{b}} [{{things}}|more][{TOGETHER}|]?",
    f"[I have|I own|I already have|Say I have] {{a}} {{things}}{SOON} {GET} {{b}} more. {MANY} [do I have|have I got]{IN_ALL}?",
    f"I [had|owned] {{a}} {{things}}{SOON} {WAS_GIVEN} {{b}} more. {MANY} [do I have|have I got]{IN_ALL}?",
    f"We have {{a}} {{things}} and {GET} {{b}} more. {MANY} [do we have|have we got|is that|are that]{IN_ALL}?",
    f"We had {{a}} {{things}} and {GOT} {{b}} more. {MANY} [do we have|are that|is that|does that make]{IN_ALL}?",
    f"You have {{a}} {{things}} and {GET} {{b}} more. {MANY} do you have{IN_ALL}?",
    f"{SHE} [had {{a}} {{things}} and {WAS_GIVEN}|has {{a}} {{things}} and {GETS}] {{b}} more. {MANY} does she have{IN_ALL}?",
    f"{HE} [had {{a}} {{things}} and {WAS_GIVEN}|has {{a}} {{things}} and {GETS}] {{b}} more. {MANY} does he have{IN_ALL}?",
    f"{THEY} [had {{a}} {{things}} and {GOT}|have {{a}} {{things}} and {GET}] {{b}} more. {MANY} do they have{IN_ALL}?",
    f"{HE} has {{a}} {{things}} and [my sister|my friend|Rosa] has {{b}}. {MANY} do they have{TOGETHER}?",
    f"I have {{a}} {{things}} and [my sister|my brother|my friend|Rosa|Paul] has {{b}}. {MANY} do we have{TOGETHER}?",
    f"[One|A] {BOX} [has|holds] {{a}} {{things}}[, another| and another|, the other| and the other] {{b}}. {MANY}[ are there| are that| is that|]{TOGETHER}?",
    f"There are {{a}} {{things}} in one {BOX} and {{b}} in [another|the other]. {MANY} [are there|are that|is that]{TOGETHER}?",
    f"There are {{a}} {{things}} {HERE}. [I|We] [bring|add|find|buy|get] {{b}} more. {MANY} are there{IN_ALL}?",
    f"{{a}} {{things}} are {HERE} and {{b}} more [come|are added|are brought]. {MANY} are there{IN_ALL}?",
    "{a} {things} [and|plus|and then] {b} more[: how|. How] many [in all|together|are that|is that|are there]?",
]

MINUS = "{a}[ - |-| minus ]{b}"
SPOKEN_MINUS = "{a}[ - | minus ]{b}"
# Differences in words that make sense below zero too.
ANY_DIFFERENCES = [
    "{a}[ - |-]{b}[| =|=| = ?|?]",
    "{a} minus {b}[|?| is what?| makes?| equals?| is?| makes what?| equals what?| is how much?]",
    f"{WHAT_IS} {MINUS}[?|]",
    orders("calculate|compute|work out|solve|find", MINUS),
    orders("give me|tell me", MINUS),
    f"[Solve|Answer|Calculate|Compute|Work this out|A subtraction for you]: {MINUS}[|?|.]",
    orders("subtract", "{b} from {a}"),
    f"[What|How much] does {SPOKEN_MINUS} [make|give|equal|come to]?",
    f"{SPOKEN_MINUS} [is|makes|gives|equals] {WHAT}?",
    f"{TELL} {WHAT} {SPOKEN_MINUS} [is|makes|gives]?",
    f"{LET_ME_KNOW} {WHAT} {SPOKEN_MINUS} [is|makes|gives][.|]",
    "What do [I get when I|I get if I|you get when you|you get if you|we get when we|we get if we] subtract {b} from {a}?",
    "[If|When] [I|we|you] subtract {b} from {a}, [what is that|what is it|how much is that|how much is it|what does that make]?",
    "[I|We] subtract {b} from {a}. [What|How much] [is that|is it|does that make]?",
]

TAKING = "[take {b} from {a}|take {b} away from {a}|take away {b} from {a}|subtract {b} from {a}|remove {b} from {a}]"
LEFT = "[are left|are left over|remain|are still there]"
GONE = "[gone|sold|lost|given away|taken|taken away|removed|broken]"
WERE_GONE = "[are gone|are sold|were sold|were lost|were given away|were taken|were taken away|were removed|got lost|got broken]"
LOSE = "[lose|sell|give away|break|throw away|lend out]"
LOSES = "[loses|sells|gives away|breaks|throws away|lends out]"
LOST = "[lost|sold|gave away|broke|threw away|lent out]"
DIFFERENCES = [
    *ANY_DIFFERENCES,
    orders("take|take away|remove", "{b} from {a}"),
    orders("take", "{b} away from {a}"),
    orders("tell me|give me", "the difference [between|of] {a} and {b}"),
    orders("find|calculate|compute|work out", "the difference [between|of] {a} and {b}"),
    "[What is|What's|How much is|And what is|So what is] the difference [between|of] {a} and {b}[?|]",
    "[Difference|The difference] [between|of] {a} and {b}[?|, please.|]",
    "{a} less {b} [is what|makes what|is how much|makes|is|equals]?",
    f"{WHAT_IS} {{a}} [less|take away] {{b}}[?|]",
    f"What [remains|is left|is left over] [when|if] [I|you|we] {TAKING}?",
    f"[If|When] [I|you|we] {TAKING}, {WHAT} [is left|remains|is left over]?",
    f"[I|We] {TAKING}. [What|How much] [is left|remains|is left over]?",
    f"How much [is left|remains|is left over] of {{a}} [when|if|after] {{b}} are {GONE}?",
    f"How many {LEFT} of {{a}} {{things}} [when|if|after] {{b}} are {GONE}?",
    f"Of {{a}} {{things}}, {{b}} are {GONE}. {MANY} {LEFT}?",
    f"There [are|were] {{a}} {{things}}[ {HERE}|][,| and| but] {{b}} {WERE_GONE}. {MANY} {LEFT}[ now|]?",
    f"There are {{a}} {{things}} {HERE}. [I|We] [take|sell|remove|take away|give away] {{b}}. {MANY} {LEFT}[ now|]?",
    f"{{a}} {{things}}[,| and| but] {{b}} are {GONE}[: how|. How] many {LEFT}?",
    f"[I have|I own|Say I have] {{a}} {{things}}{SOON} {LOSE} {{b}}. {MANY} [{LEFT}|do I still have|do I have left|have I got left]?",
    f"I [had|owned] {{a}} {{things}}{SOON} {LOST} {{b}}. {MANY} [{LEFT}|do I still have|do I have left|have I got left]?",
    f"[We|You] [have {{a}} {{things}} and {LOSE}|had {{a}} {{things}} and {LOST}] {{b}}. {MANY} {LEFT}[ now|]?",
    f"We [have {{a}} {{things}} and {LOSE}|had {{a}} {{things}} and {LOST}] {{b}}. {MANY} do we [still have|have left]?",
    f"{SHE} [has {{a}} {{things}} and {LOSES}|had {{a}} {{things}} and {LOST}] {{b}}. {MANY} [{LEFT}|does she still have|does she have left]?",
    f"{HE} [has {{a}} {{things}} and {LOSES}|had {{a}} {{things}} and {LOST}] {{b}}. {MANY} [{LEFT}|does he still have|does he have left]?",
    f"{THEY} [have {{a}} {{things}} and {LOSE}|had {{a}} {{things}} and {LOST}] {{b}}. {MANY} [{LEFT}|do they still have|do they have left]?",
    f"[A|One|The] {BOX} [has|holds] {{a}} {{things}}. [I|We|You] [take out|remove|take away|take] {{b}}. {MANY} {LEFT}[ now|]?",
]


def comparing(which, one):
    """Questions for the one of two numbers that is so: adjectives behind "is", and before a noun."""
    return [
        f"Which[ one| number| of the two|] is {which}[,|:] {{a}} or {{b}}?",
        f"[And which|So which|Now, which|Then which][ one| number|] is {which}, {{a}} or {{b}}?",
        f"Is {{a}} or {{b}} [{which}|the {one} one|the {one} number]?",
        f"[Would you say|Do you think] {{a}} or {{b}} is [{which}|the {one} one|the {one} number]?",
        f"[What|Which] is the {one}[ number| one| of the two][,|:] {{a}} or {{b}}?",
        f"[What is|What's|Which is] the {one}[ one| number|] of {{a}} and {{b}}?",
        orders("tell me|say|show me", f"which[ number| one|] is {which}", "[:|,] {a} or {b}"),
        f"[Do you know|Can you tell me|Could you say] which[ number| one|] is {which}, {{a}} or {{b}}?",
        f"[Out of|Of|Between] {{a}} and {{b}}, which[ one| number|] is {which}?",
        orders("pick|choose|find|name|give me|tell me", f"the {one}[ one| number|] of {{a}} and {{b}}"),
        f"{{a}} or {{b}}[, which|: which|? Which][ one| number|] is {which}?",
        f"[The {one} one|The {one} number], please: {{a}} or {{b}}[?|.|]",
    ]


LARGER = "[larger|bigger|greater|higher]"
COMPARISONS = [*comparing(LARGER, LARGER), orders("compare", "[|the numbers |the two numbers |these numbers, ]{a} and {b}")]
SMALLER = comparing("[smaller|less|lower]", "[smaller|lower]")


def operand(draw):
    """A number of one to three digits; long ones are the hard ones, so they come more often."""
    digits = draw.any([1, 2, 2, 3, 3, 3])
    return draw.number(10 ** (digits - 1) if digits > 1 else 0, 10**digits - 1)


def pair(draw, sign):
    """Two operands of this side of the split."""
    def make():
        a, b = operand(draw), operand(draw)
        if sign == "-" and a < b and not draw.chance(0.15):
            a, b = b, a
        return f"{a} {sign} {b}"
    a, _, b = draw.made(make).split()
    return int(a), int(b)


def columns(number, width):
    """The digits from the ones up, zeros in front."""
    return [number // 10**place % 10 for place in range(width)]


def carried(a, b):
    """An addition from the ones up, a line each column."""
    lines, carry = [], 0
    width = max(len(str(a)), len(str(b)))
    for x, y in zip(columns(a, width), columns(b, width)):
        total = x + y + carry
        lines.append(f"{x} + {y}{' + 1' if carry else ''} = {total}, write {total % 10}" + (", carry 1" if total > 9 else ""))
        carry = total // 10
    return "\n".join(lines + (["write 1"] if carry else []) + [str(a + b)])


def borrowed(a, b):
    """A subtraction from the ones up, a line each column; the smaller from the larger."""
    if a < b:
        return f"{a} < {b}, so minus\n{borrowed(b, a)}\n{a - b}"
    lines, borrow = [], 0
    width = len(str(a))
    for x, y in zip(columns(a, width), columns(b, width)):
        lift = 10 if x < y + borrow else 0
        wants = f"{x + lift} - {y}{' - 1' if borrow else ''}"
        lines.append(f"{wants} = {x + lift - y - borrow}" + (", borrow 1" if lift else ""))
        borrow = 1 if lift else 0
    return "\n".join(lines + [str(a - b)])


def addition(draw):
    """A sum."""
    a, b = pair(draw, "+")
    question = draw.say(SUMS, a=a, b=b, things=draw.any(FRUITS))
    return ask("arithmetic", question, f"{a} + {b} = {a + b}", carried(a, b), short=str(a + b), final_number=a + b)


def subtraction(draw):
    """A difference; below zero too."""
    a, b = pair(draw, "-")
    templates = DIFFERENCES if a >= b else ANY_DIFFERENCES
    question = draw.say(templates, a=a, b=b, things=draw.any(FRUITS))
    return ask("arithmetic", question, f"{a} - {b} = {a - b}", borrowed(a, b), short=str(a - b), final_number=a - b)


def compared(a, b):
    """How two numbers compare: by their lengths, else by their first different digit."""
    sign = ">" if a > b else "<"
    if len(str(a)) != len(str(b)):
        return f"{len(str(a))} digits, {len(str(b))} digits\n{a} {sign} {b}"
    lines = []
    for x, y in zip(str(a), str(b)):
        lines.append(f"{x} {'=' if x == y else '>' if x > y else '<'} {y}")
        if x != y:
            break
    return "\n".join(lines + [f"{a} {sign} {b}"])


def comparison(draw):
    """The larger or the smaller of two numbers, which are close to each other often enough to be hard."""
    def make():
        a = operand(draw)
        b = operand(draw) if draw.chance(0.5) else max(0, a + draw.number(-12, 12))
        return f"{a} ? {b if b != a else b + 1}"
    a, _, b = draw.made(make).split()
    a, b = int(a), int(b)
    if draw.chance(0.3):
        low, high = min(a, b), max(a, b)
        return ask("comparison", draw.say(SMALLER, a=a, b=b), f"{low} is smaller than {high}.", compared(a, b), short=str(low), starts=f"{low} ")
    low, high = min(a, b), max(a, b)
    return ask("comparison", draw.say(COMPARISONS, a=a, b=b), f"{high} is larger than {low}.", compared(a, b), short=str(high), starts=f"{high} ")


def episode(draw):
    """Any of them."""
    return draw.any([addition, addition, addition, subtraction, subtraction, subtraction, comparison, comparison])(draw)
