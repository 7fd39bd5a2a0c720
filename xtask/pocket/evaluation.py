"""Writes the held-out dialogues, a line each: what comes before the last reply, and what must hold of that reply.

No template and no made-up word of them is in training; facts are, as nobody can know a fact they never met, but asked
for in other words.
"""

import argparse
import json
from pathlib import Path

from rendering import render
from world import EVALUATION, Draw, chat
from world.chat import EVERYTHING, MEASURED

# How many dialogues of each skill there are. Of 450 calls a share of 97 % is known to 0.8 points, of 1350 to 0.5.
WANTED = {
    "tool_call": 900, "two_calls": 450, "tool_result": 150, "no_tool": 150, "recall": 300, "arithmetic": 250, "arithmetic_thinking": 150, "comparison": 80, "comparison_thinking": 40,
    "facts": 300, "unknown": 100, "system": 600, "extraction": 120, "spelling": 40, "counting": 80, "reversing": 60, "sorting": 60, "smalltalk": 80, "itself": 80, "beyond": 60,
}  # fmt: skip

# What newcomers say is measured apart, so that the dialogues above stay as they are.
WANTED_FIRST = {"first_words": 150, "program": 100, "outside": 150, "popular": 40, "multiplication": 120, "letters": 100, "languages": 80, "pasted": 60, "roles": 60, "refused_calls": 60}

# Of so many, one is compared with the trained model token by token.
COMPARED = 5


def counted_as(skill):
    """The skill under which a chat is counted: a thought makes a difference to sums alone."""
    return skill if skill in WANTED else skill.removesuffix("_thinking")


def dialogues():
    """Chats of all kinds, those of newcomers last."""
    yield from enough("evaluation", WANTED, EVERYTHING)
    yield from enough("newcomers", WANTED_FIRST, MEASURED)


def enough(seed, wanted, kinds):
    """Chats until there are enough of each skill."""
    draw, left, seen = Draw(seed, EVALUATION), dict(wanted), set()
    while any(left.values()):
        made = chat(draw, kinds)
        skill, line = counted_as(made.skill), json.dumps(made.messages)
        if left[skill] and line not in seen:
            left[skill] -= 1
            seen.add(line)
            yield skill, made


def identified(messages):
    """The messages as OpenAI's format has them: calls and results are paired by ids, arguments are text."""
    calls, answered, found = [], 0, []
    for message in messages:
        message = {key: value for key, value in message.items() if key != "reasoning_content"}
        if "tool_calls" in message:
            message["tool_calls"] = [identified_call(call, len(calls) + place) for place, call in enumerate(message["tool_calls"])]
            calls += message["tool_calls"]
        if message["role"] == "tool":
            message["tool_call_id"] = calls[answered]["id"]
            answered += 1
        found.append(message)
    return found


def identified_call(call, number):
    """A call with an id."""
    function = call["function"]
    text = json.dumps(function["arguments"], ensure_ascii=False)
    return {"id": f"call_{number}", "type": "function", "function": {"name": function["name"], "arguments": text}}


def as_line(number, skill, made):
    """A dialogue as JSON; of every fifth, the prompt that Hugging Face's rendering makes of it."""
    request = {"messages": identified(made.messages[:-1]), **({"tools": made.tools} if made.tools else {})}
    line = {"id": f"{skill}-{number}", "skill": skill, "thinking": made.thinking, "request": request, "check": made.check}
    if number % COMPARED == 0:
        line["prompt"] = render(made.messages[:-1], made.tools, prompt=True, enable_thinking=made.thinking)
    return line


def main():
    """Writes them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    ordered = sorted(dialogues(), key=lambda pair: [*WANTED, *WANTED_FIRST].index(pair[0]))
    lines = [json.dumps(as_line(number, skill, made), ensure_ascii=False) for number, (skill, made) in enumerate(ordered)]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} dialogues in {given.out}")


if __name__ == "__main__":
    main()
