"""How people give orders: bare, politely, or as a question. Knows no skill."""


def orders(verbs, what, end=""):
    """A template for an order: verbs in small letters with bars between them, what they are about, and how it ends.

    An end that is a text has its own full stop.
    """
    capitals = "|".join(verb[0].upper() + verb[1:] for verb in verbs.split("|"))
    whom = "" if " me" in verbs else "[ for me|]"
    stop, mark = ("", "") if end.endswith("{text}") else ("[.|]", "?")
    bare = f"[{capitals}] {what}[, please|]{end}{stop}"
    polite = f"Please [{verbs}] {what}{end}{stop}"
    asked = f"[Can|Could] you [please |][{verbs}] {what}{whom}{end}{mark}"
    return f"[{bare}|{polite}|{asked}]"
