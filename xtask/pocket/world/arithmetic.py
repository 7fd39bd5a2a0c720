"""Addition, subtraction and comparison of whole numbers of up to three digits, at once or column by column."""

from .dialogue import ask
from .names import FRUITS

SUMS = [
    "[What is|What's|Calculate|Compute|Work out] {a} + {b}[?|]",
    "{a} + {b}[ =| = ?|?]",
    "[What is|What's|How much is] {a} plus {b}?",
    "[Please add|Add|Can you add] {a} and {b}[.|]",
    "[Tell me|Give me|What is] the sum of {a} and {b}[.|]",
    "[I have|There are|We have] {a} {things} and [get|buy|find] {b} more. How many [are there|do I have|is that] [now|in all]?",
    "If I add {b} to {a}, what do I get?",
    "How much do {a} and {b} make[ together|]?",
    "{a} plus {b} [is what|makes|equals|is]?",
    "[Could you|Can you please] sum up {a} and {b}?",
    "What do you get when you put {a} and {b} together?",
    "[One box has|A bag holds] {a} {things}, [another|the other] {b}. How many [together|in all]?",
    "{a} and {b} [together|in all] [is|are|make] what?",
    "What does {a} + {b} [make|give|equal]?",
    "I add {b} to {a}. What is that?",
    "How many are {a} {things} and {b} {things} together?",
    "Give me {a} plus {b}[.|]",
    "[Solve|Answer]: {a} + {b}",
    "What is the total of {a} and {b}?",
    "Can you work out {a} plus {b}[ for me|]?",
    "I have {a} {things}. I [buy|find|get] {b} more. How many do I have[ now| in all|]?",
    "We had {a} {things} and got {b} more. How many are that[ now| in all|]?",
    "{a} {things} are here and {b} more come. How many are there [now|in all]?",
    "You have {a} {things} and [find|buy|get] {b} more. How many do you have?",
    "{a} {things} and then {b} more: how many in all?",
    "There are {a} {things} in one bag and {b} in another. How many are that in all?",
    "She had {a} {things} and was given {b} more. How many does she have?",
]
DIFFERENCES = [
    "[What is|What's|Calculate|Compute|Work out] {a} - {b}[?|]",
    "{a} - {b}[ =| = ?|?]",
    "[What is|What's|How much is] {a} minus {b}?",
    "[Please subtract|Subtract|Take|Can you take] {b} from {a}[.|]",
    "[Tell me|Give me|What is] the difference between {a} and {b}[.|?]",
    "[I have|There are|We have] {a} {things} and [lose|sell|give away] {b}. How many are left?",
    "If I take {b} away from {a}, what is left?",
    "{a} minus {b} [is what|makes|equals|is]?",
    "How much is left of {a} when {b} are gone?",
    "What remains when I subtract {b} from {a}?",
    "What does {a} - {b} [make|give|equal]?",
    "I take {b} from {a}. What is left?",
    "There were {a} {things}, {b} are gone. How many are left?",
    "Give me {a} minus {b}[.|]",
    "[Solve|Answer]: {a} - {b}",
    "{a} less {b} [is what|makes|is]?",
    "Can you work out {a} minus {b}[ for me|]?",
    "How many remain of {a} {things} when {b} are sold?",
]
# Those that make sense below zero.
ANY_DIFFERENCES = [template for template in DIFFERENCES if "minus" in template or " - " in template]
COMPARISONS = [
    "Which is [larger|bigger|greater], {a} or {b}?",
    "[Is|Would you say] {a} or {b} [is |][larger|bigger|greater]?",
    "[What|Which] is the [larger|bigger|greater] number: {a} or {b}?",
    "[Compare|Please compare] {a} and {b}[.|]",
    "Which number is [larger|bigger|greater], {a} or {b}?",
    "[Tell me|Say] which is [larger|bigger|greater]: {a} or {b}.",
    "Out of {a} and {b}, which is [bigger|larger|greater]?",
    "[Pick|Choose] the [larger|bigger|greater] one of {a} and {b}.",
]
SMALLER = [
    "Which is smaller, {a} or {b}?",
    "Which number is [smaller|less], {a} or {b}?",
    "[What|Which] is the smaller number: {a} or {b}?",
    "[Tell me|Say] which is smaller: {a} or {b}.",
    "Out of {a} and {b}, which is smaller?",
    "[Pick|Choose] the smaller one of {a} and {b}.",
    "Is {a} or {b} [the smaller one|smaller]?",
    "[Find|Name] the smaller of {a} and {b}.",
]


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
    return draw.any([addition, addition, addition, subtraction, subtraction, subtraction, comparison])(draw)
