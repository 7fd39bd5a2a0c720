"""Whole chats: episodes one after the other, under one system prompt, with one set of tools."""

from dataclasses import dataclass, replace

from . import arithmetic, beyond, extraction, facts, hello, languages, letters, memory, multiplication, outside, pasted, program, roles, rough, smalltalk, system, toolbox, tools, words
from .dialogue import assistant

NEUTRAL = ["You are a helpful assistant.", "You are a friendly assistant.", "You are the pocket model of Alloquy.", "Help the user.", "You are a chat assistant. Be kind.", "Answer the user's questions.", "You are helpful and honest.", "Be helpful.",
    "You help people with small questions.", "You are an assistant.", "This is a chat with a user.", "Be brief.", "Be a good assistant.", "You are a small language model.", "Keep your answers short."]

# Skills and how often they come up in plain chats.
PLAIN = [(arithmetic.episode, 9), (facts.episode, 9), (memory.episode, 8), (words.episode, 6), (smalltalk.small_talk, 3), (smalltalk.itself, 3), (facts.unknown, 4), (extraction.episode, 4), (beyond.episode, 3)]
# Those that mean the same under a persona or another system prompt.
SAFE = [(arithmetic.episode, 3), (facts.episode, 3), (memory.episode, 3), (words.episode, 2)]
SHORT = [(arithmetic.episode, 3), (facts.episode, 4), (memory.story, 5)]


# Beside tools nothing is beyond the model as long as one of them might do it.
BESIDE_TOOLS = [skill for skill in PLAIN if skill[0] not in (beyond.episode, facts.unknown)]


@dataclass
class Chat:
    """A chat whose last reply is what counts."""

    skill: str
    messages: list
    check: dict
    tools: list | None
    thinking: bool


def weighted(draw, skills):
    """An episode of one of the skills."""
    makers, weights = zip(*skills)
    return draw.random.choices(makers, weights)[0](draw)


def several(draw, skills, count):
    """Some episodes, of which at most one is about what the user said: two would contradict each other."""
    episodes = [weighted(draw, skills) for _ in range(count)]
    remembered = [episode for episode in episodes if episode.skill == "recall"]
    if remembered:
        # A text about some name is not what the user says of their own.
        episodes = [e for e in episodes if e.skill not in ("recall", "extraction")] + remembered[:1]
    return draw.shuffled(episodes)


def ordered(draw, groups, before):
    """Both lists in one, each in its own order."""
    result, rest = [], list(groups)
    for exchange in before:
        take = draw.number(0, len(rest)) if draw.chance(0.5) else 0
        result += rest[:take] + [exchange.turns]
        rest = rest[take:]
    return result + rest


def joined(draw, episodes):
    """The turns of episodes, the last one's question at the end."""
    groups = []
    for episode in episodes:
        if episode.before:
            groups = ordered(draw, groups, episode.before)
        groups.append(episode.turns)
    return [turn for turns in groups for turn in turns]


def finished(draw, episodes, order=None, tools=None, thoughtful=0.45):
    """A chat of these episodes, with thoughts in the last reply where thinking is on."""
    last, thinking = episodes[-1], draw.chance(thoughtful)
    messages = joined(draw, episodes)
    if order:
        messages = [{"role": "system", "content": order}, *messages]
    if thinking and last.thought:
        messages[-1] = {**messages[-1], "reasoning_content": last.thought}
    skill = last.skill + ("_thinking" if thinking and last.thought else "")
    return Chat(skill, messages, last.check, tools, thinking)


def neutral(draw):
    """No system prompt, or one that asks for nothing in particular."""
    return draw.one(NEUTRAL) if draw.chance(0.3) else None


def plain(draw):
    """Questions without anything around them."""
    return finished(draw, several(draw, PLAIN, draw.any([1, 1, 1, 2, 2, 3, 4, 5])), neutral(draw))


def sums(draw):
    """Sums alone, of which a model can never have seen enough."""
    episodes = [arithmetic.episode(draw) for _ in range(draw.any([1, 2, 3, 4, 6, 8]))]
    return finished(draw, episodes, neutral(draw))


def with_tools(draw):
    """A few dialogues with tools, perhaps with something before."""
    episodes, offered = tools.session(draw)
    before = several(draw, BESIDE_TOOLS, draw.any([0, 0, 0, 1, 1, 2])) if len(episodes) < 3 else []
    return finished(draw, [*before, *episodes], neutral(draw), offered)


def tool_lesson(draw):
    """Many dialogues with the same tools, which are read once."""
    episodes, offered = tools.session(draw, [3, 4, 5, 6])
    return finished(draw, episodes, neutral(draw), offered)


def tool_drill(draw):
    """Many dialogues with the same tools, which are hard to tell apart and to call."""
    episodes, offered = tools.session(draw, [3, 4, 5, 6], toolbox.drilled_tool)
    return finished(draw, episodes, neutral(draw), offered)


def under_order(draw):
    """A persona or knowledge in the system prompt, with other things on the way."""
    episode = system.episode(draw)
    others = several(draw, SAFE, draw.any([0, 0, 1, 1, 2])) if "equals" not in episode.check else []
    return finished(draw, [*others, episode], episode.system)


def restyled(episode, style):
    """An episode whose replies are written as the system prompt wants them."""
    turns = [spoken(turn, style) for turn in episode.turns]
    before = [replace(exchange, turns=[spoken(turn, style) for turn in exchange.turns]) for exchange in episode.before]
    check = dict(style.check)
    if "equals" in episode.check:
        check["equals"] = style.write(episode.check["equals"])
    if "final_number" in episode.check:
        check["contains"] = [*check.get("contains", []), str(episode.check["final_number"])]
    if "contains" in episode.check:
        check["contains"] = [*check.get("contains", []), *episode.check["contains"]]
    return replace(episode, skill="system", turns=turns, before=before, check=check)


def spoken(turn, style):
    """A reply in the style; other turns as they are."""
    return {**turn, "content": style.write(turn["content"])} if turn["role"] == "assistant" else turn


def styled(draw):
    """A way to write that holds for every reply."""
    style = draw.any([system.ending, system.beginning, system.address])(draw)
    skills = [skill for skill in PLAIN if skill[0] not in (extraction.episode, smalltalk.itself)]
    episodes = [restyled(episode, style) for episode in several(draw, skills, draw.any([1, 1, 2, 3]))]
    return finished(draw, episodes, style.system)


def shortened(episode):
    """An episode whose replies are one word."""
    before = [replace(exchange, turns=[*exchange.turns[:-1], assistant(exchange.short)]) for exchange in episode.before if exchange.short]
    turns = [*episode.turns[:-1], assistant(episode.short)]
    return replace(episode, skill="system", turns=turns, before=before, check={"equals": episode.short})


def one_word(draw, skills=SHORT, counts=(1, 2, 2, 3)):
    """Replies of one word."""
    style = system.one_word(draw)
    found = [episode for episode in several(draw, skills, draw.any(counts)) if episode.short]
    return finished(draw, [shortened(episode) for episode in found], style.system) if found else one_word(draw, skills, counts)


def one_word_lesson(draw):
    """Many replies of one word, most of them numbers that nothing written down leads to."""
    return one_word(draw, [(arithmetic.episode, 6), (facts.episode, 1), (memory.story, 3)], (3, 4, 5, 6))


# What newcomers say.
FIRST = [(hello.episode, 12), (program.episode, 14), (outside.episode, 14), (outside.popular, 6), (multiplication.episode, 9), (letters.episode, 7), (languages.episode, 5), (pasted.episode, 6), (roles.episode, 7)]
# Skills whose words are copied, so that they stay as they are.
COPIED = ("recall", "extraction", "counting", "spelling", "reversing", "sorting", "system")


def typed(draw, episode):
    """An episode whose user types roughly."""
    if episode.skill == "recall" and draw.chance(0.25):
        episode = answered_otherwise(draw, episode)
    if episode.skill == "recall" and draw.chance(0.6):
        return in_small_letters(episode)
    change = rough.exact if episode.skill in COPIED else rough.typed
    turns = [{**turn, "content": change(draw, turn["content"])} if turn["role"] == "user" else turn for turn in episode.turns]
    before = [replace(exchange, turns=[{**turn, "content": change(draw, turn["content"])} if turn["role"] == "user" else turn for turn in exchange.turns]) for exchange in episode.before] if episode.skill == "facts" else episode.before
    return replace(episode, turns=turns, before=before)


# What another model, or a person, replies to what is to be remembered: a conversation may come from anywhere.
OTHERWISE = ["Okay.", "Got it.", "Noted.", "Nice to meet you!", "Thanks for telling me.", "Sure.", "I see.", "Cool!", "Great, thanks!", "Hello! It is nice to meet you.", "Interesting!", "Of course, I will keep that in mind.", "Oh, how nice.", "Understood."]


def answered_otherwise(draw, episode):
    """An episode in which what was to be remembered was answered in other words."""
    def other(turn):
        return {**turn, "content": draw.any(OTHERWISE)} if turn["role"] == "assistant" else turn
    before = [replace(exchange, turns=[other(turn) for turn in exchange.turns]) for exchange in episode.before]
    return replace(episode, before=before)


def in_small_letters(episode):
    """An episode whose user types everything in small letters, what is remembered too."""
    groups = [exchange.turns for exchange in episode.before] + [episode.turns]
    marked = [{**turn, "group": number} for number, turns in enumerate(groups) for turn in turns]
    changed = rough.small(marked)
    split = [[{key: value for key, value in turn.items() if key != "group"} for turn in changed if turn["group"] == number] for number in range(len(groups))]
    before = [replace(exchange, turns=turns) for exchange, turns in zip(episode.before, split)]
    return replace(episode, before=before, turns=split[-1])


def first(draw):
    """The first thing that somebody says."""
    episode = weighted(draw, FIRST)
    return finished(draw, [episode], episode.system or neutral(draw) if draw.chance(0.4) or episode.system else None, thoughtful=0.65)


def roughly(draw):
    """Questions without anything around them, as they are typed."""
    return finished(draw, [typed(draw, episode) for episode in several(draw, PLAIN, draw.any([1, 1, 2, 3, 4]))], neutral(draw), thoughtful=0.6)


# What people type in few words and small letters, mostly facts.
TYPED = [(facts.episode, 12), (facts.follow, 2), (facts.unknown, 4), (arithmetic.episode, 2), (memory.episode, 4), (words.episode, 1), (smalltalk.itself, 1)]


def rough_lesson(draw):
    """Many questions as they are typed: a name in small letters is other tokens, and each has to be met."""
    return finished(draw, [typed(draw, episode) for episode in several(draw, TYPED, draw.number(3, 8))], neutral(draw), thoughtful=0.6)


def rough_order(draw):
    """A persona or knowledge in the system prompt, and a question as it is typed."""
    episode = system.episode(draw)
    return finished(draw, [typed(draw, episode)], episode.system, thoughtful=0.6)


def newcomer(draw):
    """A chat in which somebody finds out what the model can do."""
    episodes = several(draw, PLAIN, draw.any([0, 1, 1, 2]))
    episodes = [typed(draw, episode) if draw.chance(0.5) else episode for episode in episodes] + [weighted(draw, FIRST) for _ in range(draw.any([1, 2, 3]))]
    return finished(draw, draw.shuffled([episode for episode in episodes if not episode.system]) or [hello.episode(draw)], neutral(draw), thoughtful=0.6)


def letters_lesson(draw):
    """Spelling, reversing, counting and sorting alone."""
    return finished(draw, [draw.any([letters.episode, letters.episode, words.episode])(draw) for _ in range(draw.number(3, 8))], neutral(draw))


def multiplication_lesson(draw):
    """Products and sums alone."""
    return finished(draw, [multiplication.episode(draw) for _ in range(draw.number(3, 9))], neutral(draw))


def refused_calls(draw):
    """Calls that do not run, among others that do."""
    episodes, offered = tools.session(draw, [0, 0, 0, 1, 2], whole=tools.WHOLE + tools.TROUBLED * 2, last=tools.TROUBLED)
    return finished(draw, episodes, neutral(draw), offered, thoughtful=0.6)


# Kinds of chats, and how often they come up where everything is learnt, and measured.
EVERYTHING = {plain: 25, sums: 20, with_tools: 35, under_order: 11, styled: 9, one_word: 10}
# Facts and memory are learnt first; tools, sums and answers of one word take far longer, and a long chat of one kind has more of them to learn.
LESSONS = {plain: 14, sums: 20, with_tools: 16, tool_lesson: 10, under_order: 12, styled: 10, one_word: 12, one_word_lesson: 24}
# What is learnt last of all is to copy names and codes into calls.
TOOL_LESSONS = {plain: 12, sums: 14, with_tools: 24, tool_lesson: 30, under_order: 10, styled: 6, one_word: 6, one_word_lesson: 10}
# And of those, the ones of which nothing but their description says what they are.
TOOL_DRILLS = {plain: 10, sums: 13, with_tools: 18, tool_lesson: 14, tool_drill: 24, under_order: 9, styled: 5, one_word: 5, one_word_lesson: 12}

# What newcomers say is learnt beside all else, which is kept.
NEWCOMERS = {plain: 8, sums: 8, with_tools: 11, tool_lesson: 8, tool_drill: 8, under_order: 7, styled: 4, one_word: 4, one_word_lesson: 6, first: 44, roughly: 12, newcomer: 14, letters_lesson: 8, multiplication_lesson: 6, refused_calls: 5}
# The same with more that is typed roughly: small letters took longer than all else.
ROUGH = {**NEWCOMERS, sums: 13, with_tools: 10, tool_lesson: 8, tool_drill: 9, under_order: 20, styled: 8, one_word: 8, one_word_lesson: 12, first: 60, rough_order: 9, rough_lesson: 34, multiplication_lesson: 8, refused_calls: 3}
# The same alone, to be measured.
MEASURED = {first: 20, refused_calls: 3}


def chat(draw, kinds=EVERYTHING):
    """Any chat."""
    return draw.random.choices(list(kinds), list(kinds.values()))[0](draw)
