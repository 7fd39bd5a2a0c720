"""Products up to twelve times twelve and the divisions that undo them; sums in few words; and sums that are refused."""

from . import rough
from .arithmetic import carried, borrowed, pair
from .dialogue import ask
from .names import FRUITS
from .refusals import CANNOT

HIGHEST = 12
ASK = "[|||||what is |what's |whats |how much is |calculate |compute |solve |work out |tell me |please calculate |can you calculate |can you tell me what is |do you know what is |and |now |hi, what is |hey what's |hello, how much is |what does |evaluate |answer: |quick: |maths: |math: ]"
END = "[|||?|?| =|=| = ?|=?| is what?| equals| equals?| equals what?| please|, please|!|.]"
TIMES = ["{a}[*| * |x| x |×| × |X| X | times | times | multiplied by |·| . | by | ✕ |⋅| ∗ ]{b}"]
PRODUCTS = [
    f"{ASK}{TIMES[0]}{END}", f"{ASK}{TIMES[0]}{END}", f"{ASK}{TIMES[0]}{END}",
    "[multiply|please multiply|can you multiply] {a} [by|and|with|times] {b}[?||.]", "[what is |what's |tell me |give me |]the product of {a} and {b}[?||.]", "{a} times {b} [is|makes] [what|how much]?", "what do you get [when|if] you multiply {a} [by|and] {b}?",
    "how many are {a} times {b}?", "how many [things|{things}] are [in |]{a} [boxes|bags|rows|packs] [of|with] {b}[ {things}| each|]?", "[I have|there are|we have] {a} [boxes|bags|rows] [of|with] {b} {things}[ each|]. how many[ {things}|] [are there|do I have|is that|in all|altogether]?",
    "[each|every] [box|bag|child] has {b} {things}. how many[ {things}|] [do|have] {a} [boxes|bags|children] have?",
]  # fmt: skip
SQUARES = [f"{ASK}{{a}} [squared|square|to the power of 2|^2|^ 2|**2|²]{END}", "[what is |what's |]the square of {a}[?|]"]
QUOTIENTS = [f"{ASK}{{a}}[/| / | ÷ |÷| : | divided by | divided by | over ]{{b}}{END}", "[divide|please divide|can you divide] {a} by {b}[?||.]", "how many times does {b} go into {a}?", "[share|split] {a} {things} [among|between] {b} [people|friends|children]. how many does each get?"]
SHORT_SUMS = [f"{ASK}{{a}}[+| + | plus | and | added to ]{{b}}{END}", f"{ASK}{{a}}[+| + | plus ]{{b}}{END}"]
SHORT_DIFFERENCES = [f"{ASK}{{a}}[-| - | minus | − |–| less ]{{b}}{END}", f"{ASK}{{a}}[-| - | minus ]{{b}}{END}"]
IN_WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
HARD = [
    f"{ASK}{{a}}[+|-|*| + | - | * | plus | times | minus ]{{b}}[+|-|*|/| + | - | * | plus | times | minus ]{{c}}{END}", f"{ASK}{{a}} [+|-|*|x|/] {{b}} [+|-|*] {{c}} [+|-|*] {{d}}{END}", f"{ASK}([{{a}} + {{b}}|{{a}}+{{b}}])[*| * |/]{{c}}{END}",
    f"{ASK}{{a}}.{{b}}[+|-|*|/| + | - | * | times | plus ]{{c}}[|.{{d}}]{END}", f"{ASK}[sqrt({{a}})|√{{a}}|square root of {{a}}|the square root of {{a}}|root of {{a}}|sin({{a}})|cos {{a}}|log({{a}})|log of {{a}}|ln {{a}}|{{a}}!|{{a}} factorial|factorial of {{a}}|the cube of {{a}}|{{a}} cubed]{END}",
    f"{ASK}{{a}}[ to the power of |^|**| ^ | to the ][3|4|5|8|10|{{b}}|20]{END}", f"{ASK}{{b}}[% of | % of | percent of | per cent of ][{{a}}|{{e}}]{END}", f"{ASK}[a half of|half of|a third of|a quarter of|twice|double|three times] [{{a}}|{{e}}]{END}", f"{ASK}[1/2|1/3|3/4|2/3|1/{{b}}] [+|-|*|of] [1/2|1/4|2/5|{{a}}]{END}",
    "[is|Is] {e} [a prime|prime|a prime number|even|odd|divisible by {b}]?", "what is the [average|mean|median|sum] of {a}, {b} and {c}?", "[solve|Solve] [x + {a} = {e}|{b}x = {a}|x^2 = {a}|for x: {b}x + {c} = {e}|{b}x + {c} = {e}][?|]", "[what is |What is |]x[ if| when|:] {b}x + {c} = {e}[?|]",
    "[what is |what's |]pi[?| to {b} digits]", "value of pi", "{e} in [binary|hex|roman numerals|octal]", "[convert|what is] {e} [miles|feet|inches|pounds|celsius|km|dollars|euros|cups] [in|to] [km|metres|cm|kg|fahrenheit|miles|euros|dollars|ml][?|]", "what is the [derivative|integral] of x^{b}?", "[integrate|differentiate] x^{b}", "what is {e} mod {b}?", "{e} % {b}", "how many [primes|prime numbers] are there [below|under] {e}?", "what is the {b}th [prime|fibonacci number]?",
    "[the first {b} primes|first {b} prime numbers|list the first {b} prime numbers|list primes up to {e}|fibonacci up to {e}|the fibonacci sequence|give me the first {b} fibonacci numbers]", "{e} seconds in [minutes|hours]", "how many [seconds|minutes|hours] are [in {b} hours|in {b} days|in a year|in a week]?",
]  # fmt: skip


def product(draw):
    """One of the table, at once."""
    a, b = (int(part) for part in draw.made(lambda: f"{draw.number(0 if draw.chance(0.2) else 2, HIGHEST)} × {draw.number(0 if draw.chance(0.2) else 2, HIGHEST)}").split(" × "))
    if draw.chance(0.06):
        return sum_asked(draw, draw.expand(draw.any(SQUARES), a=a), f"{a} × {a} = {a * a}", a * a)
    return sum_asked(draw, draw.say(PRODUCTS, a=a, b=b, things=draw.any(FRUITS)), f"{a} × {b} = {a * b}", a * b)


def quotient(draw):
    """What undoes a product, or does not come out and is refused."""
    a, b = draw.number(1, HIGHEST), draw.number(1, HIGHEST)
    if draw.chance(0.7):
        return sum_asked(draw, draw.say(QUOTIENTS, a=a * b, b=b, things=draw.any(FRUITS)), f"{a * b} / {b} = {a}", a)
    b = draw.number(2, 25)
    a = draw.any([draw.number(1, 12) * b + draw.number(1, b - 1), draw.number(13, 999), draw.number(1, 144)])
    if a % b == 0 and a // b <= HIGHEST and b <= HIGHEST:
        return quotient(draw)
    return refused(draw, draw.say(QUOTIENTS, a=a, b=draw.any([b, b, b, 0]), things=draw.any(FRUITS)))


def larger_product(draw):
    """A product beyond the table."""
    a, b = draw.number(13, draw.any([20, 40, 99, 999, 9999])), draw.number(2, draw.any([12, 20, 99, 999, 9999]))
    a, b = draw.any([(a, b), (b, a)])
    if draw.chance(0.1):
        return refused(draw, draw.expand(draw.any(SQUARES), a=max(a, b)))
    return refused(draw, draw.say(PRODUCTS, a=a, b=b, things=draw.any(FRUITS)))


def short_sum(draw):
    """A sum or a difference as it is typed."""
    sign = draw.any(["+", "+", "-"])
    a, b = pair(draw, sign) if draw.chance(0.8) else (draw.number(0, 20), draw.number(0, 20))
    if sign == "+":
        return sum_asked(draw, draw.say(SHORT_SUMS, a=a, b=b), f"{a} + {b} = {a + b}", a + b, carried(a, b))
    return sum_asked(draw, draw.say(SHORT_DIFFERENCES, a=a, b=b), f"{a} - {b} = {a - b}", a - b, borrowed(a, b))


def long_sum(draw):
    """A sum with a number of four digits and more."""
    a, b = draw.number(1000, draw.any([1100, 9999, 9999, 99999, 9999999])), draw.number(1, draw.any([9, 99, 999, 9999, 99999]))
    if draw.chance(0.3):
        a, b = draw.any([1, 2, 5, 10]) * 10 ** draw.number(3, 6), draw.any([1, 1, 2, 10, 100, 1000])
    a, b, templates = draw.any([(a, b, SHORT_SUMS), (b, a, SHORT_SUMS), (a, b, SHORT_DIFFERENCES)])
    return refused(draw, draw.say(templates, a=a, b=b))


def in_words(draw):
    """Numbers that are written out."""
    a, b = draw.number(0, 20), draw.number(0, 20)
    kind = draw.random.random()
    fields = {"a": IN_WORDS[a], "b": IN_WORDS[b]}
    if kind < 0.45:
        return sum_asked(draw, draw.expand(f"{ASK}{{a}} [plus|plus|+|and] {{b}}{END}", **fields), f"{a} + {b} = {a + b}", a + b)
    if kind < 0.65 and a >= b:
        return sum_asked(draw, draw.expand(f"{ASK}{{a}} [minus|minus|-|less] {{b}}{END}", **fields), f"{a} - {b} = {a - b}", a - b)
    a, b = a % 13, b % 13
    return sum_asked(draw, draw.expand(f"{ASK}{{a}} [times|times|x|multiplied by] {{b}}{END}", a=IN_WORDS[a], b=IN_WORDS[b]), f"{a} × {b} = {a * b}", a * b)


def hard(draw):
    """What the model cannot work out."""
    fields = {"a": draw.number(1, draw.any([9, 99, 99, 999])), "b": draw.number(2, 20), "c": draw.number(1, draw.any([9, 20])), "d": draw.number(1, 9), "e": draw.number(2, draw.any([50, 100, 1000]))}
    return refused(draw, draw.say(HARD, **fields))


def sum_asked(draw, question, answer, result, thought=None):
    """The question, sometimes with a capital, and its answer."""
    return ask("multiplication", capital(draw, question), answer, thought, short=str(result), equals=answer)


def refused(draw, question):
    """The question, and that it is too hard."""
    return ask("multiplication", capital(draw, question), CANNOT)


def capital(draw, question):
    """The question as it is typed."""
    kind = draw.random.random()
    if kind < 0.3:
        return question[0].upper() + question[1:]
    return question.upper() if kind < 0.33 and "x" not in question else rough.slipped(draw, question) if kind < 0.36 else question


def episode(draw):
    """Any of them."""
    return draw.any([product] * 8 + [quotient] * 3 + [larger_product] * 3 + [short_sum] * 4 + [long_sum] * 2 + [in_words] * 2 + [hard] * 3)(draw)
