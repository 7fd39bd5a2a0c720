"""Dialogues with tools: which to call, with what, what came back, and when none fits."""

from dataclasses import replace

from . import arithmetic, facts, names, smalltalk, toolbox
from .dialogue import Episode, assistant, tool, user

OPENERS = ["", "", "", "", "please ", "can you ", "could you ", "I want you to ", "would you "]
ENDS = ["", ".", ", please", ", please.", " now.", "!", " for me."]
QUESTION_WORDS = ("what", "what's", "how", "is", "do", "which", "where", "does", "did", "will", "would", "may", "can")
# A request that begins so is a statement; "please" does not go before it.
STATEMENT_WORDS = set("i we at on a the it any note: note shopping alarm weather table message definition price directions light".split())
NO_TOOL = "I have no tool for that."
FAILURES = """not found;no connection;access denied;time out;unknown name;not available;wrong input;no permission;no answer;no such name;no space left;
no access;no network;not allowed;not open;not ready;not possible;too large;too late;too many calls;too many requests;connection lost;connection closed;
connection refused;wrong name;wrong password;wrong number;unknown user;unknown input;unknown city;server down;server not found;file not found;name not found;
name taken;name too long;input too long;input missing;password missing;permission denied;permission missing;request denied;try again later;the line is busy""".replace("\n", "").split(";")


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
        return {"error": draw.one(FAILURES) if draw.chance(0.7) else toolbox.phrase(draw)}
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


def called(tool, arguments):
    """The turn in which the model calls a tool."""
    return assistant("", calls=[toolbox.call(tool, arguments)])


def one_call(draw, tools):
    """One of the offered tools is called."""
    wanted = draw.any(tools)
    arguments = wanted.arguments(draw)
    turns = [user(asked(draw, wanted.request(draw, arguments))), called(wanted, arguments)]
    return Episode("tool_call", turns, {"calls": [toolbox.call(wanted, arguments)]})


def answered(draw, tools):
    """The tools' messages and the reply to them."""
    results = [result_for(draw, tool) for tool in tools]
    said = " ".join(reading(result) for result in results)
    return [*(tool(toolbox.as_text(draw, result)) for result in results), assistant(said)], {"equals": said}


def one_result(draw, tools):
    """A call, its result, and the reply."""
    wanted = draw.any(tools)
    arguments = wanted.arguments(draw)
    rest, check = answered(draw, [wanted])
    turns = [user(asked(draw, wanted.request(draw, arguments))), called(wanted, arguments), *rest]
    return Episode("tool_result", turns, check)


def pair(draw, tools):
    """Two calls and the sentence that asks for both: one tool twice, or two tools."""
    several = [tool for tool in tools if tool.parameters]
    if several and (len(tools) == 1 or draw.chance(0.5)):
        chosen = [draw.any(several)] * 2
    else:
        chosen = draw.random.sample(tools, 2)
    first, second = (tool.arguments(draw) for tool in chosen)
    if chosen[0] is chosen[1] and first == second:
        return pair(draw, tools)
    joint = draw.any([" and ", ", and ", " and then ", ". Then ", ", then "])
    text = joint.join([chosen[0].request(draw, first), chosen[1].request(draw, second)])
    calls = [toolbox.call(chosen[0], first), toolbox.call(chosen[1], second)]
    return chosen, calls, text[0].upper() + text[1:] + draw.any(["", ".", ".", "?"])


def can_pair(tools):
    """Whether two different calls can be made of these."""
    return len(tools) > 1 or bool(tools[0].parameters)


def two_calls(draw, tools):
    """Two calls at once."""
    if not can_pair(tools):
        return one_call(draw, tools)
    _, calls, text = pair(draw, tools)
    return Episode("two_calls", [user(text), assistant("", calls=calls)], {"calls": calls})


def two_results(draw, tools):
    """Two calls at once, and the reply to both results."""
    if not can_pair(tools):
        return one_result(draw, tools)
    chosen, calls, text = pair(draw, tools)
    rest, check = answered(draw, chosen)
    return Episode("tool_result", [user(text), assistant("", calls=calls), *rest], check)


def none_needed(draw, tools):
    """Tools are there, but the question is one that the model answers itself."""
    makers = [facts.episode, smalltalk.small_talk, smalltalk.itself]
    # A calculator would be a right answer to a sum.
    if not any("ultipl" in tool.description for tool in tools):
        makers += [arithmetic.addition, arithmetic.subtraction]
    return replace(draw.any(makers)(draw), skill="no_tool")


def none_fits(draw, tools):
    """Something is to be done, and no tool does it."""
    for _ in range(20):
        wanted = toolbox.any_tool(draw)
        if not any(related(wanted, other) for other in tools):
            text = asked(draw, wanted.request(draw, wanted.arguments(draw)))
            return Episode("no_tool", [user(text), assistant(NO_TOOL)], {"equals": NO_TOOL})
    return none_needed(draw, tools)


def related(wanted, other):
    """Whether the other tool might do as well: it searches everything, or their descriptions share a word."""
    words = [{word for word in tool.description.lower().split() if len(word) > 3} for tool in (wanted, other)]
    return bool(words[0] & words[1]) or "the web" in other.description


# Why a call did not run, as the program words it; and what is said then. The model copies no reason: it may be any.
REASONS = ["the user does not want it", "the user does not want it", "there was no person to approve it", "tools do not run here", "not now", "not allowed", "the limit is {n} cents", "this is too expensive", "not {p}", "no notes", "the policy forbids it", "only {p} may do this", "wrong {w}", "it is unsafe", "the {w} is locked"]
REFUSED, BOTH_REFUSED = "The call was refused, so I did not do it.", "Both calls were refused, so I did not do it."
TROUBLE = [
    ("this call was refused: {reason}", REFUSED), ("this call was refused: {reason}", REFUSED), ("this call was refused: {reason}", REFUSED),
    ("the tool did not answer within {n}[s|ms|m]", "The tool did not answer in time."), ("this call was stopped before it was answered", "The call was stopped before it was answered."),
    ("this call had no result when the conversation continued", "The call had no result."), ("[the tool failed|the tool panicked|the call failed|it failed|error|failed|the server failed|an error occurred|execution failed]: {why}", "The call failed: {why}."),
]


def trouble(draw):
    """A result that is none, and what is said to it."""
    result, reply = draw.any(TROUBLE)
    reason = draw.expand(draw.any(REASONS), n=draw.number(1, 300), p=names.person(draw), w=names.word(draw))
    why = draw.one(FAILURES)
    return draw.expand(result, reason=reason, n=draw.number(1, 300), why=why), reply.replace("{why}", why)


def troubled(draw, tools):
    """A call that was refused, failed or took too long: one sentence, and no further call."""
    wanted = draw.any(tools)
    arguments = wanted.arguments(draw)
    result, reply = trouble(draw)
    turns = [user(asked(draw, wanted.request(draw, arguments))), called(wanted, arguments), tool(result), assistant(reply)]
    return Episode("refused_calls", turns, {"equals": reply})


def both_refused(draw, tools):
    """Two calls of which none ran."""
    if not can_pair(tools):
        return troubled(draw, tools)
    _, calls, text = pair(draw, tools)
    results = [draw.expand("this call was refused: " + draw.any(REASONS), n=draw.number(1, 300), p=names.person(draw), w=names.word(draw)) for _ in calls]
    if draw.chance(0.6):
        results[1] = results[0]
    turns = [user(text), assistant("", calls=calls), *(tool(result) for result in results), assistant(BOTH_REFUSED)]
    return Episode("refused_calls", turns, {"equals": BOTH_REFUSED})


LAST = [one_call] * 6 + [one_result] * 2 + [two_calls] * 6 + [two_results] + [none_needed] * 2 + [none_fits] * 5
# What is over when the next thing is said.
WHOLE = [one_result] * 5 + [two_results] * 3 + [none_needed] + [none_fits] * 3


# Where calls are refused or fail, now and then.
TROUBLED = [troubled] * 3 + [both_refused]


def session(draw, before=(0, 0, 1, 1, 2, 3), make=toolbox.any_tool, whole=WHOLE, last=LAST):
    """Dialogues with the same tools, so many before the last, and the tools as they are offered: in some order."""
    tools = toolbox.offered(draw, draw.any([1, 2, 2, 3, 3, 4]), make)
    earlier = [draw.any(whole)(draw, tools) for _ in range(draw.any(before))]
    episodes = [*earlier, draw.any(last)(draw, tools)]
    return episodes, [tool.spec(draw) for tool in draw.shuffled(tools)]
