"""Sentences as they are typed: without capitals or full stops, all in capitals, abbreviated, with a slip of the finger. Knows no skill."""

import re

SHORT = [
    (r"\b(\w+)'s\b", r"\1s"), (r"\bI'm\b", "im"), (r"\bdon't\b", "dont"), (r"\bcan't\b", "cant"), (r"\bare you\b", "r u"), (r"\byou\b", "u"), (r"\byour\b", "ur"),
    (r"\bplease\b", "pls"), (r"\bplease\b", "plz"), (r"\bthank you\b", "thx"), (r"\bthanks\b", "thx"), (r"\band\b", "&"), (r"\bcolour\b", "color"), (r"\bto\b", "2"),
    (r"\bWhat is\b", "whats"), (r"\bwhat is\b", "whats"), (r"\bWho is\b", "whos"), (r"\bI\b", "i"), (r"\bokay\b", "ok"),
]  # fmt: skip
ENDS = ["!", "!!", "??", "?!", "...", ".", "?", " ?", " !", " :)", "\n", " please", " pls", " thx", ", thanks", " 🙂"]


def bare(text):
    """Without what ends it."""
    return text.rstrip(" .?!")


def abbreviated(draw, text):
    """With one or two words as people shorten them."""
    for pattern, short in draw.random.sample(SHORT, draw.number(2, 6)):
        text = re.sub(pattern, short, text)
    return text


def slipped(draw, text):
    """With one slip: a letter left out, doubled, or two in the wrong order."""
    places = [found.start() + draw.number(1, len(found[0]) - 2) for found in re.finditer(r"[A-Za-z]{4,}", text)]
    if not places:
        return text
    place = draw.any(places)
    pair = draw.any([text[place + 1] + text[place], text[place], text[place] * 2 + text[place + 1]])
    return text[:place] + pair + text[place + 2 :]


def capitals(draw, text):
    """In small letters mostly, as a whole or at its beginning; seldom all in capitals."""
    kind = draw.random.random()
    if kind < 0.68:
        return text.lower()
    if kind < 0.78:
        return text[:1].lower() + text[1:]
    return text.upper() if kind < 0.92 else text


def ended(draw, text):
    """With no end mostly."""
    kind = draw.random.random()
    if kind < 0.55:
        return bare(text)
    return bare(text) + draw.any(ENDS) if kind < 0.72 else text


def exact(draw, text):
    """Roughly the same, every word as it is: for texts whose words are copied."""
    return ended(draw, text[:1].lower() + text[1:] if draw.chance(0.6) else text)


def typed(draw, text, slips=0.12):
    """The text as somebody types it."""
    if draw.chance(0.15):
        text = abbreviated(draw, text)
    if draw.chance(slips):
        text = slipped(draw, text)
    return ended(draw, capitals(draw, text))


def small(turns):
    """Turns of which the user types everything in small letters; replies have the user's words as they were typed."""
    said = {word for turn in turns if turn["role"] == "user" for word in re.findall(r"[A-Z]\w*", turn["content"])} - {"I"}
    changed = []
    for turn in turns:
        content = turn["content"]
        if turn["role"] == "user":
            content = bare(content.lower())
        elif turn["role"] == "assistant":
            content = re.sub(r"[A-Z]\w*", lambda found: found[0].lower() if found[0] in said and found.start() > 0 else found[0], content)
        changed.append({**turn, "content": content})
    return changed
