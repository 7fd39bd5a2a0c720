"""Spelling, reversing, counting and sorting as people ask for them first: common words, few words around them; and what goes too far."""

from . import names, rough
from .dialogue import ask
from .refusals import CANNOT
from .words import dashed, several

COMMON = """hello world banana apple orange strawberry cherry computer keyboard mouse screen window door house table chair water coffee tea bread cheese butter sugar pepper salt money paper pencil book letter word sentence language english school
teacher student doctor nurse police fire earth moon star space planet ocean river mountain forest flower tree grass animal horse tiger lion elephant giraffe monkey rabbit chicken turtle snake spider butterfly summer winter spring autumn morning evening
night week month year today tomorrow yesterday monday friday sunday january december birthday christmas holiday family mother father sister brother daughter husband friend people person child baby girl boy woman man king queen prince castle dragon
magic music guitar piano drum song dance movie picture photo camera phone radio television internet email message question answer problem idea dream love happy sad angry tired hungry beautiful big small little large short long fast slow new old young
good bad hot cold warm cool red blue green yellow purple black white brown pink rust python java code program function model token data test file folder memory robot machine engine rocket train plane car bus bike boat ship bridge street road city village
country garden kitchen bathroom bedroom office hospital library museum church market shop restaurant hotel pizza pasta soup rice potato tomato onion carrot lemon grape peach melon chocolate cookie cake candy pancake sandwich breakfast lunch dinner bottle
glass cup plate spoon fork knife shirt shoes jacket hat glasses watch ring gold silver iron stone wood plastic cotton necessary separate definitely weird receive believe rhythm level racecar radar kayak noon mississippi knowledge alloquy pocket llama
thank please sorry welcome goodbye yes no maybe never always sometimes about after again because before between could every first great heart important know learn listen nothing number other place really right science second should sleep sound story
their there these thing think three through under until voice walk want where which while without work write""".split()
SPELL = ["[spell|please spell|can you spell|spell out|how do you spell|how is|letters of|spell the word|how do i spell|how to spell|spelling of|what are the letters of|what are the letters in|spell me] {w}[ spelled|]", "{w} letter by letter", "spell: {w}", 'spell "{w}"', "spell '{w}'", "[can you|could you|please] spell [the word |]{w}[ for me|]"]
REVERSE = ["[reverse|please reverse|can you reverse|reverse the word|flip|turn around|spell backwards|write backwards|what is the reverse of|reverse this word:|reverse the string|invert] {w}", "[what is |what's |spell |write |say |]{w} [backwards|in reverse|reversed|backward]", 'reverse "{w}"', "reverse '{w}'", "reverse: {w}", "[can you|could you|please] [spell|write|say] [the word |]{w} backwards"]
LENGTH = ["how many letters [are |are there |]in [the word |]{w}", "how many letters does [the word |]{w} have", "how long is the word {w}", "[number of letters in|count the letters in|count letters in|letter count of|length of] [the word |]{w}", "[how many|count the] [characters|letters] in {w}", "[how many|count the] letters in '{w}'", 'how many letters in "{w}"']
COUNT = ["[count|please count|can you count|count up|now count|count for me|could you count] [to|from 1 to|from one to|up to] {b}", "[numbers|the numbers|list the numbers|all numbers|write the numbers|say the numbers|tell me the numbers] [from 1 to|1 to|from one to] {b}", "[1 to|from 1 to] {b}"]
COUNT_DOWN = ["[count down|countdown|count backwards|please count down|count back|can you count down] from {b}[ to 1|]", "[count|please count] [down|backwards] from {b} to 1", "[a|give me a] countdown from {b}"]
SORT = ["[sort|please sort|can you sort|order|sort these numbers:|sort the numbers|sort these:|put in order:|arrange|sort:|sort numbers|sort the list|sort this list:|sort ascending:|put these in order:] {items}", "[smallest to largest|ascending|in order|sorted]: {items}", "[sort|order] {items} [from smallest to largest|ascending|in ascending order|by size|from low to high]"]
SORT_WORDS = ["[sort|please sort|sort these words:|sort alphabetically:|sort the words|alphabetical order:|order alphabetically:|sort:|can you sort|put in alphabetical order:|alphabetize|alphabetise] {items}", "[sort|order|put] {items} [alphabetically|in alphabetical order|by the alphabet]"]
LARGEST = ["[what is|what's|which is|tell me|find] the [largest|biggest|highest|maximum|greatest] [number |of |number of |in |][: |]{items}", "[max|maximum|largest|biggest] of {items}", "[which|what] is [bigger|larger|more|greater], {two}", "[which number is|what's|what is] [bigger|larger|greater] {two}", "is {two} [bigger|larger|greater]"]
TOO_FAR = [
    "how many [times does the letter |]{l}[s|'s| letters|] [are there |are |appear |]in [the word |]{w}", "[count|count the|number of] [{l}s|{l}'s|letter {l}|vowels|consonants|syllables] in [the word |]{w}", "how many [vowels|syllables|consonants] [does {w} have|are in {w}|in {w}]", "[count|count up|please count] to [50|100|1000|a million|one hundred|a thousand|500|200|infinity|10000|one million]", "[reverse|spell backwards|reverse the sentence|reverse this:] [i like {w} and {v}|the {w} is on the {v}|this is a {w}|hello world how are you]",
    "[what is|what's] the [first|last|second|third|fourth|middle] letter of {w}", "is {w} a palindrome", "[anagram of|make an anagram of|unscramble|scramble|shuffle the letters of] {w}", "[what|which] words [start with|begin with|end with|rhyme with|contain] {l}", "[capitalize|uppercase|lowercase|make uppercase|write in capitals|encode|decode|encrypt|hash|rot13|base64 encode|morse code of|in morse code|write in binary] {w}", "[sort|order] {items}", "sort {many}", "[name|give me|list|tell me] [10|ten|20|five words that start with {l}|twenty|a hundred|a word with {b} letters|a word that starts with {l}|words that rhyme with {w}] [animals|words|countries|things|cities|colours|]",
    "count the words in: [the {w} and the {v} are here|i like {w}|a {w} is a {v}]", "how many words are in [this sentence|the sentence i like {w}|this text]",
]  # fmt: skip
REPEAT = ["[repeat after me|repeat|say|please say|repeat after me please|say after me|repeat this|just say|can you say|echo|copy this|now say][:| :|] {x}", '[repeat after me|repeat|say|please say|just say|can you say|print|type|write|echo|answer with][:|] "{x}"', "[say|repeat|print|type|please say] '{x}'", "[say|please say|can you say] the word{s} {x}"]


def known_word(draw):
    """A word that people know, of this side; or one of pieces of known words, so that every piece is learnt."""
    kind = draw.random.random()
    return draw.one(COMMON) if kind < 0.55 else draw.one(names.LOWER) if kind < 0.75 else names.spliced(draw)


def typed(draw, question):
    """The question as it is typed, its words as they are."""
    kind = draw.random.random()
    return question[0].upper() + question[1:] + draw.any(["?", ".", ""]) if kind < 0.35 else question + draw.any(["", "", "", "?", ".", "!"])


def spelling(draw):
    """The letters of a word."""
    word = known_word(draw)
    return ask("letters", typed(draw, draw.say(SPELL, w=word)), dashed(word))


def reversal(draw):
    """A word backwards."""
    word = known_word(draw)
    return ask("letters", typed(draw, draw.say(REVERSE, w=word)), f"{dashed(word)} backwards is {dashed(word[::-1])}.", contains=[f"is {dashed(word[::-1])}."])


def length(draw):
    """How many letters."""
    word = known_word(draw)
    return ask("letters", typed(draw, draw.say(LENGTH, w=word)), f"{dashed(word)}: {len(word)} letters", ends=f"{len(word)} letters")


def counting(draw):
    """Counting from one, or down to it."""
    high = draw.any([3, 4, 5, 5, 6, 7, 8, 9, 10, 10, 10, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 20])
    if draw.chance(0.7):
        return ask("letters", typed(draw, draw.say(COUNT, b=high)), ", ".join(map(str, range(1, high + 1))))
    high = min(high, 12)
    return ask("letters", typed(draw, draw.say(COUNT_DOWN, b=high)), ", ".join(map(str, range(high, 0, -1))))


def numbers(draw, low, high):
    """A few numbers, mostly small."""
    most = draw.any([9, 20, 20, 99, 999] if high < 8 else [20, 99, 999])
    return several(draw, lambda draw: draw.number(0 if most > 9 else 1, most), low, high)


def sorting(draw):
    """Numbers by size, words by the alphabet."""
    if draw.chance(0.6):
        items = numbers(draw, 3, 6)
        text = draw.any([", ", " ", ","]).join(map(str, items))
        return ask("letters", typed(draw, draw.say(SORT, items=text)), ", ".join(map(str, sorted(items))))
    items = several(draw, known_word, 2, 4)
    return ask("letters", typed(draw, draw.say(SORT_WORDS, items=draw.any([", ", " ", ", "]).join(items))), ", ".join(sorted(items)))


def largest(draw):
    """The largest of numbers."""
    items = numbers(draw, 2, 5)
    template = draw.chosen(draw.any(LARGEST))
    if "{two}" in template:
        items = items[:2]
        return ask("letters", typed(draw, template.replace("{two}", draw.any([" or ", " or ", " and "]).join(map(str, items)))), f"{max(items)} is larger than {min(items)}.")
    items = items if len(items) > 2 else numbers(draw, 3, 5)
    return ask("letters", typed(draw, template.replace("{items}", ", ".join(map(str, items)))), f"{max(items)} is the largest.")


def too_far(draw):
    """What the model would get wrong."""
    fields = {"w": known_word(draw), "v": known_word(draw), "l": draw.any("abcdefghiklmnoprstuw"), "b": draw.number(4, 30), "items": ", ".join(map(str, numbers(draw, 9, 14))), "many": " ".join(several(draw, known_word, 7, 10))}
    return ask("letters", typed(draw, draw.say(TOO_FAR, **fields)), CANNOT)


def repeating(draw):
    """A few words said again."""
    words = [known_word(draw) for _ in range(draw.any([1, 1, 2, 2, 3, 4]))]
    text = draw.any([" ".join(words), " ".join(words), " ".join(words).capitalize(), names.person(draw), "I like " + words[0], "hello " + words[0], names.word(draw)])
    return ask("letters", rough.exact(draw, draw.say(REPEAT, x=text, s="s" if " " in text else "")) if text[-1].isalpha() and draw.chance(0.3) else draw.say(REPEAT, x=text, s="s" if " " in text else ""), text)


def episode(draw):
    """Any of them."""
    return draw.any([spelling] * 3 + [reversal] * 3 + [length] * 2 + [counting] * 3 + [sorting] * 4 + [largest] * 2 + [too_far] * 3 + [repeating] * 2)(draw)
