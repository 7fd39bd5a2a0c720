"""Dialogues with tools: which to call, with what, what came back, and when none fits."""

from . import arithmetic, facts, smalltalk, toolbox
from .dialogue import Episode, assistant, tool, user

OPENERS = ["", "", "", "", "please ", "can you ", "could you ", "I want you to ", "would you "]
ENDS = ["", ".", ", please", ", please.", " now.", "!", " for me."]
QUESTION_WORDS = ("what", "how", "is", "do", "which", "where", "does")
# A request that begins so is a statement; "please" does not go before it.
STATEMENT_WORDS = set("i we at on a the it any note: note shopping alarm weather table message definition price directions light".split())
NO_TOOL = "I have no tool for that."
FAILURES = ["not found", "no connection", "access denied", "time out", "unknown name", "not available", "wrong input", "no permission"]


def asked(draw, request):
    """A request as a sentence: a question, an order, or a polite one."""
    first = request.split()[0].lower()
    if first in QUESTION_WORDS:
        text = request + draw.any(["?", "?", ""])
    elif first in STATEMENT_WORDS or request[0].isdigit():
        text = request + draw.any(["", "."])
    else:
        opener, end = draw.any(OPENERS), draw.any(ENDS)
        text = opener + request + ("?" if opener[:1] in "cw" and opener else end)
    return text[0].upper() + text[1:] if draw.chance(0.85) else text


def reading(result):
    """What a result says, in a sentence."""
    if isinstance(result, str):
        return f"The result is {result}."
    if "error" in result:
        return f"That did not work: {result['error']}."
    if result in ({"status": "done"}, {"status": "ok"}, {"done": True}):
        return "It is done."
    return " ".join(f"The {key.replace('_', ' ')} is {value}." for key, value in result.items())


def result_for(draw, chosen):
    """What the tool gives back: mostly what it should."""
    if draw.chance(0.08):
        return {"error": draw.one(FAILURES)}
    if draw.chance(0.15):
        return plain_text(draw)
    return toolbox.result_of(draw, "value")(draw) if draw.chance(0.1) else chosen.result(draw)


def plain_text(draw):
    """A result that is no object."""
    return draw.any([
        lambda: str(draw.number(0, 10 ** draw.number(2, 10))),
        lambda: toolbox.clock_time(draw),
        lambda: toolbox.phrase(draw),
        lambda: f"20{draw.number(20, 39)}-{draw.number(1, 12):02}-{draw.number(1, 28):02}T{toolbox.clock_time(draw)}",
    ])()


def specs(draw, tools):
    """The tools as they are offered, in some order."""
    return [tool.spec(draw) for tool in draw.shuffled(tools)]


def one_call(draw):
    """One of the offered tools is called."""
    tools = toolbox.offered(draw, draw.any([1, 2, 2, 3, 3, 4]))
    arguments = tools[0].arguments(draw)
    call = toolbox.call(tools[0], arguments)
    turns = [user(asked(draw, tools[0].request(draw, arguments))), assistant("", calls=[call])]
    return Episode("tool_call", turns, {"calls": [call]}, tools=specs(draw, tools))


def answered(draw, tools):
    """The tools' messages and the reply to them."""
    results = [result_for(draw, tool) for tool in tools]
    said = " ".join(reading(result) for result in results)
    return [*(tool(toolbox.as_text(draw, result)) for result in results), assistant(said)], {"equals": said}


def one_result(draw):
    """A call, its result, and the reply."""
    tools = toolbox.offered(draw, draw.any([1, 1, 2, 3]))
    arguments = tools[0].arguments(draw)
    call = toolbox.call(tools[0], arguments)
    rest, check = answered(draw, tools[:1])
    turns = [user(asked(draw, tools[0].request(draw, arguments))), assistant("", calls=[call]), *rest]
    return Episode("tool_result", turns, check, tools=specs(draw, tools))


def pair(draw, tools):
    """Two calls and the sentence that asks for both: one tool twice, or two tools."""
    if draw.chance(0.5) and tools[0].parameters:
        first, second = tools[0].arguments(draw), tools[0].arguments(draw)
        if first == second:
            return pair(draw, tools)
        chosen = [tools[0], tools[0]]
    else:
        chosen = tools[:2]
        first, second = chosen[0].arguments(draw), chosen[1].arguments(draw)
    requests = [chosen[0].request(draw, first), chosen[1].request(draw, second)]
    joint = draw.any([" and ", ", and ", " and then ", ". Then ", ", then "])
    text = joint.join(requests)
    calls = [toolbox.call(chosen[0], first), toolbox.call(chosen[1], second)]
    return chosen, calls, text[0].upper() + text[1:] + draw.any(["", ".", ".", "?"])


def two_calls(draw):
    """Two calls at once."""
    tools = toolbox.offered(draw, draw.any([2, 2, 3, 4]))
    _, calls, text = pair(draw, tools)
    return Episode("two_calls", [user(text), assistant("", calls=calls)], {"calls": calls}, tools=specs(draw, tools))


def two_results(draw):
    """Two calls at once, and the reply to both results."""
    tools = toolbox.offered(draw, 2)
    chosen, calls, text = pair(draw, tools)
    rest, check = answered(draw, chosen)
    return Episode("tool_result", [user(text), assistant("", calls=calls), *rest], check, tools=specs(draw, tools))


def none_needed(draw):
    """Tools are there, but the question is one that the model answers itself."""
    make = draw.any([facts.episode, smalltalk.small_talk, smalltalk.itself, arithmetic.addition, arithmetic.subtraction])
    episode = make(draw)
    episode.skill = "no_tool"
    # A calculator would be a right answer to a sum.
    offered = [tool for tool in toolbox.offered(draw, draw.number(1, 3)) if "ultipl" not in tool.description]
    episode.tools = specs(draw, offered) or None
    return episode


def none_fits(draw):
    """Something is to be done, and no tool does it."""
    wanted, *others = toolbox.offered(draw, draw.number(2, 4))
    others = [other for other in others if not related(wanted, other)]
    if not others:
        return none_fits(draw)
    text = asked(draw, wanted.request(draw, wanted.arguments(draw)))
    return Episode("no_tool", [user(text), assistant(NO_TOOL)], {"equals": NO_TOOL}, tools=specs(draw, others))


def related(wanted, other):
    """Whether the other tool might do as well: it searches everything, or their descriptions share a word."""
    words = [{word for word in tool.description.lower().split() if len(word) > 3} for tool in (wanted, other)]
    return bool(words[0] & words[1]) or "the web" in other.description


def episode(draw):
    """Any of them."""
    return draw.any([one_call] * 6 + [one_result] * 2 + [two_calls] * 3 + [two_results] + [none_needed] * 2 + [none_fits] * 2)(draw)
