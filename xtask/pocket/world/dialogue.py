"""What skills make: a few turns, and what a right last reply looks like."""

from dataclasses import dataclass, field


def user(text):
    """A turn of the user."""
    return {"role": "user", "content": text}


def assistant(text, thought=None, calls=()):
    """A reply, with its thoughts and calls where it has any."""
    message = {"role": "assistant", "content": text}
    if thought:
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = [{"type": "function", "function": call} for call in calls]
    return message


def tool(text):
    """What a tool gave back."""
    return {"role": "tool", "content": text}


@dataclass
class Exchange:
    """What is said once and answered, before an episode's last question."""

    turns: list
    # The reply where replies are one word; none where no word would do.
    short: str | None = "Noted."


@dataclass
class Episode:
    """Turns that belong together; the last is a reply, and `check` says what must hold of it."""

    skill: str
    turns: list
    check: dict
    # What must already have been said: exchanges that other episodes may stand behind.
    before: list = field(default_factory=list)
    system: str | None = None
    # The thought that the last reply has where thinking is on.
    thought: str | None = None
    # The same answer in one word, where there is one.
    short: str | None = None

    def __post_init__(self):
        assert self.turns[-1]["role"] == "assistant", self


def ask(skill, question, answer, thought=None, short=None, **check):
    """One question and its reply. Without a check, the reply must be this one."""
    turns = [user(question), assistant(answer)]
    return Episode(skill, turns, check or {"equals": answer}, thought=thought, short=short)
