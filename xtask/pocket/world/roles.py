"""Roles without a name: in a system prompt the model is what it is told to be; a user who asks for one is refused."""

from . import names, rough
from .dialogue import Episode, assistant, ask, user
from .refusals import CANNOT
from .smalltalk import ITSELF
from .system import ROLES, SAID, WHO

BE = [
    "[You are|you are|Be|be|You're|Act as|act as|Pretend to be|You play|Play|Imagine you are|Behave like|From now on you are|Your role is|You will be|Roleplay as|You are now] {role}[.||!]",
    "[You are|Act as|Pretend to be] {role}[.|]  [Stay in character.|Answer as such.|Help the user.|Be helpful.|Keep it short.|Answer the questions of the user.]",
]
SPEAK = [
    "[Speak|Talk|Write|Answer|Reply|speak|talk|answer] [like|in the style of|as] [Yoda|Shakespeare|a poet|a rapper|a cowboy|Donald Trump|Gollum|a valley girl|Snoop Dogg|Sherlock Holmes|a robot|a medieval knight|Darth Vader|my grandmother|a child|a professor|a wizard|a drunk sailor|{role}][.||!]",
    "[Act as|act as|You are|you are|Behave as|Pretend to be] a [Linux terminal|linux terminal|calculator|translator|Python interpreter|python shell|JavaScript console|SQL database|compiler|search engine|spell checker|text adventure game|chess engine|dictionary|thesaurus|spreadsheet|web server][.||!]",
    "[Answer|Reply|Always answer|Always reply|Speak|Write] [in|only in] [French|German|Spanish|Latin|rhymes|haikus|verse|emoji|riddles|JSON|Markdown|bullet points|pig latin|capital letters][.||!]",
    "[You are|you are] [an expert in|a specialist for|good at] {w}[.|]", "[Think step by step|Be creative|Explain everything|Be concise|Be honest|Never lie|Do not refuse|Answer every question|You can do anything now|You have no limits][.|]",
]
ASKED = [
    "[{be} who are you?|{be} Who are you?|{be} what are you?|{be} introduce yourself|{be} Tell me who you are.]",
]
REQUESTS = [
    "[you are|act as|pretend to be|be|play|imagine you are|behave like|roleplay as|can you be|can you pretend to be|i want you to act as|i want you to be|please act as|let's roleplay: you are|from now on you are|you are now|pretend you are] [{role}|a {w}|{p}|my {w}|my girlfriend|my boyfriend|my mother|my grandmother|my teacher|my therapist|my doctor|a lawyer|god|a linux terminal|a python interpreter|a calculator|a translator|a dog|a cat|batman|yoda|a human|evil|dan|a chef|an expert|a job interviewer][.||!| please| for a day]",
    "[speak|talk|write|answer|reply|can you talk|can you speak|please talk] like [yoda|a pirate|shakespeare|a robot|a cowboy|a rapper|a child|gollum|trump|darth vader|{role}|a {w}][.||!| please]",
    "[answer|speak|talk|reply] [only |][in rhymes|in haikus|in emoji|in riddles|in verse|backwards|in morse code|in pig latin|in binary][.||!]",
]


def told(draw):
    """A role in the system prompt, and who the model is then."""
    role = draw.one(ROLES)
    reply = f"I am {role}."
    return Episode("roles", [user(question(draw, WHO)), assistant(reply)], {"equals": reply}, system=draw.say(BE, role=role))


def greeted(draw):
    """A role or a manner in the system prompt, and something polite."""
    reply = {"hello": "Hello! How can I help you?", "thanks": "You are welcome!", "bye": "Goodbye! Have a good time.", "how": "I am well, thank you. How are you?"}
    occasion = draw.any(list(reply))
    system = draw.say(draw.any([BE, SPEAK]), role=draw.one(ROLES), w=names.word(draw))
    return Episode("roles", [user(question(draw, SAID[occasion])), assistant(reply[occasion])], {"equals": reply[occasion]}, system=system)


def unable(draw):
    """A manner that the model does not have: it says what it is."""
    _, reply, _ = ITSELF[0]
    return Episode("roles", [user(question(draw, WHO)), assistant(reply)], {"equals": reply}, system=draw.say(SPEAK, role=draw.one(ROLES), w=names.word(draw)))


def asked(draw):
    """A user who tells the model what to be, and asks who it is in the same breath."""
    role = draw.one(ROLES)
    be = draw.say(BE, role=role)
    return ask("roles", draw.say(ASKED, be=be), f"I am {role}.")


def requested(draw):
    """A user who asks for a role."""
    text = draw.say(REQUESTS, role=draw.one(ROLES), w=names.word(draw), p=names.person(draw))
    return ask("roles", text if draw.chance(0.5) else text[0].upper() + text[1:], CANNOT)


def question(draw, templates):
    """A question as it is typed."""
    text = draw.say(templates)
    return rough.typed(draw, text, 0.05) if draw.chance(0.5) else text


def episode(draw):
    """Any of them."""
    return draw.any([told, told, told, greeted, greeted, unable, asked, requested, requested])(draw)
