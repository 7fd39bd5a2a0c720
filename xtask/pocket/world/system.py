"""System prompts: a persona, what it knows, how it must write."""

from dataclasses import dataclass
from typing import Callable

from . import names, toolbox
from .asking import indirect
from .dialogue import Episode, assistant, user
from .refusals import IDK

FORMS = [
    "[You are|Be|In this chat you are|From now on you are|Today you are|Your role is] {name}, {role}.",
    "[Pretend|Imagine|Please pretend|Please imagine] [you are|that you are] {name}, {role}.",
    "[Act as|Please act as|Speak as|You speak as|Reply as|Answer as|You answer as|Play|Play the role of|Take the role of|You have the role of] {name}, {role}.",
    "[Your name is|You are called|In this chat your name is|From now on your name is|People call you] {name}[. You are|, and you are| and you are] {role}.",
    "[You are|In this chat you are|Act as|Pretend to be|Play|You speak as|Be] {role} [called|named|with the name] {name}.",
    "[You are|In this chat you are|From now on you are] {role}[, and your name is|. Your name is|, and people call you] {name}.",
]
WHO = [
    "[Who|And who|So who|Hello, who|Sorry, who] are you?",
    "[What is|What's|And what is|So what is|Hello, what is] your name?",
    "[Who|And who|So who] [am I talking to|am I speaking to|do I talk to|is this]?",
    "[Introduce yourself|Do introduce yourself|Please introduce yourself][.|!]",
    "Introduce yourself[, please|].",
    "[Can|Could|Will] you introduce yourself[, please|]?",
    "[What are you|And what are you|So what are you][ called|]?",
    *indirect("[who you are|what you are called|what your name is|your name]"),
]

EACH = "[every|each] [reply|answer|message]"
ANSWER = "[Answer|Reply|Please answer|Please reply|Always answer|Always reply|You must answer|You must reply|Only answer|Answer only]"
ONE_WORD = [
    ANSWER + " [in|with] [one|a single|just one] word.",
    "[Use|Say|Write|Please use|Only use|Use only|Say only|You must use|Give] [one|a single|just one] word[ for " + EACH + "| in " + EACH + "|].",
    "[Your|All your] [answers|replies] [are|must be|should be] [one word long|single words|just one word].",
    "[Every|Each] [reply|answer] [must be|is|has to be|should be] [one|a single|just one] word.",
    "[Be as short as you can|Keep it short|Be short|Be very short]: [one|a single|just one] word.",
    "[Give|Please give|Always give|You must give|Only give] [one-word|single-word] [answers|replies].",
    "[One|A single|Just one] word is enough for [each|every] [answer|reply].",
    "[One|A single] word per [answer|reply], [please|no more].",
]
END_WITH = [
    "[End|Finish|Close|Please end|Please finish|You must end|You must finish|Always end|Be sure to end] " + EACH + " with {x}",
    "[Always|You must always|Please always|You always] [end|finish|close] [with|by saying] {x}",
    "[At the end of|To end|To close|To finish] " + EACH + ", [say|write|put|add] {x}",
    "[Put|Please put|Always put|Say|Write|Add|Always add|You must say] {x} at the end of " + EACH + ".",
    "In " + EACH + ", [say {x} last.|end with {x}|say {x} at the end.|finish with {x}|close with {x}]",
    "The last thing you [say|write] [is always|must be|must always be|is] {x}",
    "[All your|Your] [replies|answers|messages] [end|must end|always end|finish|must finish|close] with {x}",
    "[Every|Each] [reply|answer] [ends|must end|finishes|must finish|has to end] with {x}",
    "Let [every|each] [reply|answer] [end|finish|close] with {x}",
    "Let the last thing you say be {x}",
    "[Finish|End|Close] all [you say|your replies|your answers] with {x}",
    "[Finish|End|Please finish|Please end] with {x}",
]
BEGIN_WITH = [
    "[Begin|Start|Open|Please begin|Please start|You must begin|You must start|Always begin|Be sure to begin] " + EACH + " with {x}",
    "[Always|You must always|Please always|You always] [begin|start|open] [with|by saying] {x}",
    "[At the start of|To begin|To open|To start] " + EACH + ", [say|write|put|add] {x}",
    "[Put|Please put|Always put|Say|Write|Add|Always add|You must say] {x} at the start of " + EACH + ".",
    "In " + EACH + ", [say {x} first.|begin with {x}|say {x} at the start.|start with {x}|open with {x}]",
    "The first thing you [say|write] [is always|must be|must always be|is] {x}",
    "[All your|Your] [replies|answers|messages] [begin|must begin|always begin|start|must start|open] with {x}",
    "[Every|Each] [reply|answer] [begins|must begin|starts|must start|has to begin] with {x}",
    "Let [every|each] [reply|answer] [begin|start|open] with {x}",
    "Let the first thing you say be {x}",
    "[Start|Begin|Open] all [you say|replies|your replies|your answers] with {x}",
    "[Start|Begin|Please start|Please begin] with {x}",
]
ADDRESS = [
    "[Call|Please call|Always call|You must call|You call|In every reply, call|In each answer, call] [the user|me|the person you talk to] {x}.",
    "[Address|Please address|Always address|You must address|Speak to|Always speak to|Talk to|Please talk to] [the user|me] as {x}.",
    "The user [wants|would like|likes|wishes] to be called {x}.",
    "I [want|would like|like|wish] to be called {x}[, please|].",
    "You [talk|speak] to {x}. [Say the name|Use the name|Always use the name|Please use the name][ in " + EACH + "|].",
    "[Use|Always use|Please use|You must use] the name {x} [when you reply|when you answer|in " + EACH + "|when you talk to me|when you talk to the user].",
    "[Say|Please say] {x} to the user[ in " + EACH + "|].",
    "The user is {x}; [say so|use the name|say the name] in " + EACH + ".",
]
WHATEVER = "[whatever the user says|whatever I say|whatever you are asked|whatever is asked|whatever I ask|no matter what is asked|no matter what the user says|no matter what I say]"
NOTHING_ELSE = [
    "[Whatever|No matter what] [the user says|I say|I ask|you are asked|is asked|the user asks], [reply with|answer with|say|just say|only say] {x}",
    "[Reply with|Answer with|Say|Just say|Only say] {x} " + WHATEVER + ".",
    "[Answer|Always answer|Please answer] [everything|every question|all questions|every message] with {x}",
    "[Reply|Always reply|Please reply] to [everything|every question|all messages|every message] with {x}",
    "Your only [reply|answer] [is|must be|is always] {x}",
    "The only [thing|reply|answer] you [ever |]say is {x}",
    "The only thing you [can say|must say|ever write|write|are to say] is {x}",
    "[Always say|Say|Reply|Answer|Always reply|Always answer|You must say|Please say] {x} and nothing [else|more].",
    "To [everything|every message|every question|all questions|all messages], [answer|reply|say|just say] {x}",
    "[Never say anything|Say nothing|Never write anything|Do not say anything] [but|other than] {x}",
]


def tone(word, adverb, other, like):
    """The orders to write in a tone."""
    how = f"[{word}|very {word}|{other}|{other} and {word}|{word} and {other}]"
    return [
        f"[Be|Please be|Always be|You must be|In every reply, be|You are|Stay] {how}.",
        f"Be {how}, please.",
        f"[Speak|Write|Talk|Reply|Answer|Please speak|Please write|Always speak|Always write|You must speak|You write] [{adverb}|in a {word} [way|tone|style]].",
        f"[Talk|Speak|Write|Please talk|Always talk|You must talk] like a {like}.",
        f"[Use|Please use|Always use|You must use|Use only] [{word} language|{word} words|a {word} tone|a {word} style].",
        f"[Keep|Please keep|Always keep|You must keep] a {word} [tone|style].",
        f"Your [tone|style|language] [is|must be|should be] {how}.",
    ]


FORMAL = tone("formal", "formally", "very polite", "butler")
CASUAL = tone("casual", "casually", "relaxed", "friend")
REGISTERS = {
    "formal": (FORMAL, {"hello": "Good day. How may I be of service?", "thanks": "It was my pleasure.", "bye": "I wish you a pleasant day. Goodbye.", "how": "I am very well, I thank you."}),
    "casual": (CASUAL, {"hello": "Hey! What's up?", "thanks": "No worries!", "bye": "See you!", "how": "All good here!"}),
}
SAID = {
    "hello": ["[Hi|Hello|Hey|Greetings|Good day][ there| to you|][!|.|]", "[Hi|Hello|Hey], [model|my friend|friend|you][!|.|]"],
    "thanks": [
        "[Thank you|Thanks][ a lot| so much| very much|][ for that| for your help| for the help|][.|!]", "Many thanks[ for that| for your help|][.|!]",
        "[Great|Good|Very good|Perfect|Nice], [thank you|thanks|many thanks][.|!]",
    ],
    "bye": [
        "[Bye|Goodbye|Bye bye|Bye now|See you|See you later|See you soon|Until next time|Until tomorrow][.|!|]", "I [have to|must] [go|leave][ now|].", "I am [leaving|going][ now|][, bye|, goodbye|].",
        "That [was|is] all[ for today|], [bye|goodbye].",
    ],
    "how": [
        "[How|And how|So how|Hello, how] [are you|are you doing|is it going|have you been|are things|do you feel][ today|]?", "How's it going[ today|]?",
        "[Are you|And are you|So are you] [well|fine|all right][ today|]?",
    ],
}

# The words of roles, emblems and titles come in several, so that a held-out one is made of words that were trained on.
MANNERS = ["an old", "a young", "a kind", "a friendly", "a brave", "a wise"]
TRADES = """pirate robot wizard cook guide captain detective knight librarian fisherman doctor teacher clerk gardener poet dragon ghost queen
king assistant astronaut baker coach clown farmer sailor witch magician fisher princess painter singer shepherd""".split()
PLACES = ["of the north", "of the south", "of the hills", "of the sea"]
ROLES = [
    "a ship's captain", "a ship's cook", "a ship's doctor", "a shop assistant", "a hotel assistant", "a hotel clerk", "a shop clerk", "a travel agent", "a travel guide", "a helpful assistant", "a helpful guide",
    "an old wizard of the north", "an old king of the south", "an assistant", "an astronaut",
    *(f"a {trade}" for trade in TRADES if trade[0] != "a"),
    *(f"{manner} {trade}" for manner in MANNERS for trade in TRADES),
    *(f"a {trade} {place}" for trade in ["king", "queen", "knight", "witch", "wizard", "dragon", "pirate"] for place in PLACES),
]
EMBLEMS = [
    "Ahoy!", "Ahoy there!", "Ahoy, friend!", "Over and out.", "Over!", "Out.", "Have a nice day!", "Have a good day!", "Have a nice time!", "Have a good time!", "Have a good night!", "Yes, sir!", "Yes!", "No, sir!", "Yes, yes!",
    "Beep boop.", "Beep!", "Beep beep!", "Boop!", "Arr!", "Arr, friend!", "Cheers!", "Cheers, friend!", "As you wish.", "As you say.", "As you like.", "As I say.", "Meow.", "Meow!", "Meow meow.", "Woof!", "Woof woof!",
    "So be it.", "So it is.", "So it goes.", "So I say.", "The end.", "The end!", "This is the end.", "Amen.", "Amen!", "Roger.", "Roger!", "Roger, over.", "Indeed.", "Indeed!", "Yes, indeed.", "Hurray!", "Hurrah!", "Hurray, hurray!",
    "Good luck!", "Good luck, friend!", "Good day!", "Good night!", "Good day to you!", "Take care!", "Take care, friend!", "Take it easy!", "Done.", "Done!", "Well done!", "All done.", "Peace!", "Peace to you!", "Peace and luck!",
    "Very well.", "Very good.", "All is well.", "Onwards!", "Onwards, friend!", "Go on!", "Here we go!", "Here I am.", "That is all.", "That is it.", "As we like it.", "If you like.", "Meow, friend!", "Be well!", "Be good!", "Indeed, friend!", "Hurray, friend!", "Hurrah, friend!", "Hurrah, hurray!", "Hurray for you!",
]
TITLES = [
    *(title for title in "Sir Madam Captain Boss Professor Doctor Chief Master Coach General Prof Admiral Lord Lady King Queen".split()), "Your Majesty", "Your Grace",
    *(f"my {title}" for title in ["friend", "dear", "Lord", "Lady", "Captain", "King", "Queen", "General", "Boss", "Chief"]),
    *(f"{before} {title}" for before in ["dear", "my dear", "good"] for title in ["friend", "Sir", "Madam", "Captain", "Doctor", "Professor", "Master", "Admiral", "Coach", "Lady"]),
]


def emblem(draw):
    """Something short to say again and again."""
    return draw.any([lambda: draw.one(EMBLEMS), lambda: draw.made(lambda: mixed(draw)), lambda: sentence(draw, " ".join(names.word(draw) for _ in range(draw.number(1, 2))))])()


def mixed(draw):
    """Words of emblems in an order that none of them has: ordinary words have to be copied too."""
    words = [draw.any(draw.any(EMBLEMS).split()).strip(".,!").lower() for _ in range(draw.number(1, 4))]
    return sentence(draw, draw.any([" ", " ", ", "]).join(words))


def sentence(draw, words):
    """The words with a capital and an end."""
    return words[0].upper() + words[1:] + draw.any(["!", ".", "!", "?"])


def quoted(draw, text):
    """The text as a system prompt names it."""
    return draw.any(['"{}"', "'{}'", "{}", '"{}"']).format(text)


def persona(draw):
    """Who the model is said to be."""
    name = names.person(draw)
    if draw.chance(0.3):
        name = f"{draw.any(['Captain', 'Doctor', 'Professor', 'Lady', 'Sir', 'Uncle'])} {name}"
    role = draw.one(ROLES)
    reply = f"I am {name}, {role}."
    return Episode("system", [user(draw.say(WHO)), assistant(reply)], {"contains": [name, role]}, system=draw.say(FORMS, name=name, role=role))


def register(draw):
    """A formal or a casual tone."""
    orders, replies = draw.any(list(REGISTERS.values()))
    occasion = draw.any(list(SAID))
    reply = replies[occasion]
    return Episode("system", [user(draw.say(SAID[occasion])), assistant(reply)], {"equals": reply}, system=draw.say(orders))


@dataclass
class Kind:
    """Something that a system prompt tells: the templates have fields for the value, `{v}`, and for a room."""

    make: Callable
    tells: list
    asks: list
    reply: str


ROOMS = ["kitchen", "library", "office", "garden room", "tea room", "music room", "reading room", "dining room", "bar", "pool"]
KNOWLEDGE = [
    Kind(toolbox.clock_time,
        ["[We|Our doors|The doors] [open|open every day|always open] at {v}.", "[The shop|Our shop|Our house] opens [every day |]at {v}.", "[The|Our] opening [hour|time] is {v}.", "[We are open|The shop is open|Open|Our doors are open] from {v}[ on|]."],
        ["[When|At what time|At which time|How early] [do you|does the shop|do the doors|do your doors] open?", "What is [the|your] opening [hour|time]?", "From when [are you|is the shop] open?", "[When|From when] can I come[ in|]?",
            *indirect("[when you open|when the shop opens|your opening hour]")],
        "We open at {v}."),
    Kind(toolbox.clock_time,
        ["[We|Our doors|The doors] [close|close every day|always close|shut] at {v}.", "[The shop|Our shop|Our house] [closes|shuts] [every day |]at {v}.", "[The|Our] closing [hour|time] is {v}.", "[We are open|The shop is open|Open|Our doors are open] until {v}."],
        ["[When|At what time|At which time|How late] [do you|does the shop|do the doors|do your doors] [close|shut]?", "What is [the|your] closing [hour|time]?", "[Until when|How late] [are you|is the shop] open?",
            *indirect("[when you close|when the shop closes|your closing hour|until when you are open]")],
        "We close at {v}."),
    Kind(names.town,
        ["[We are|The shop is|Our house is|Our shop is|The house is] in [the town of |]{v}.", "[You find|You can find|You can visit|Visit] [us|the shop|our shop] in {v}.", "[Our|The] address is in {v}.", "[Our house|The house|Our shop] stands in {v}.", "[Our|The] town is {v}.", "{v} is where [we are|the shop is|you find us]."],
        ["Where [are you|is the shop|is your shop|is the house]?", "[In which town|In what town] [are you|is the shop|do I find you|is the house]?", "Where [do|can] I [find|visit] [you|the shop]?", "[What|Which] town are you in?", "[What|Which] is your town?",
            *indirect("[where you are|where the shop is|where I find you|in which town you are]")],
        "We are in {v}."),
    Kind(lambda draw: draw.number(1, 999),
        ["[A|One|Each|Every] ticket [costs|is] {v} euro.", "[The price|The ticket price|Our price|The price of a ticket] is {v} euro.", "[One pays|You pay|Guests pay|Visitors pay|Everyone pays] {v} euro[ for a ticket|].", "It costs {v} euro.", "[The tickets|Tickets|Our tickets] [are|cost] {v} euro."],
        ["What does [it|a ticket|one ticket] cost?", "What do [tickets|the tickets] cost?", "How much [is|costs] [a|one|the] ticket?", "What is the [price|ticket price|price of a ticket]?", "[How much do I|What do I|How much must I|How much does one] pay[ for a ticket|]?", "How expensive is [it|a ticket]?",
            *indirect("[what it costs|what a ticket costs|the price|how much I pay]")],
        "It costs {v} euro."),
    Kind(names.person,
        ["[The|Our] [boss|owner] is {v}.", "{v} is [the|our] [boss|owner].", "[The|Our] [boss|owner] is called {v}.", "The [shop|house|place] belongs to {v}.", "{v} owns the [shop|house|place].", "{v} is in charge[ of the shop| of the place|]."],
        ["[Who|And who] is [the|your] [boss|owner]?", "[Who|And who] owns the [place|shop|house]?", "Who is in charge[ of the shop| of the place|]?", "What is [the|your] [boss|owner] called?", "[To whom does it belong|To whom does the shop belong|Who does the shop belong to]?",
            *indirect("[who the boss is|who owns the place|who is in charge|who the owner is]")],
        "The boss is {v}."),
    Kind(names.code,
        ["[The|Our|The wifi|The guest] password is {v}.", "[The code of the door|The door code|The code for the door] is {v}.", "[Guests get|Guests use|Visitors get|Visitors use|Give guests] the password {v}.", "[The door opens|Our door opens|You open the door|One opens the door] with [the code |]{v}.", "[Use|Take|Please use] {v} as the [password|door code].", "{v} is [the password|the door code|our password|the wifi password]."],
        ["[What is|What's|And what is] the [password|wifi password|door code|code of the door|code]?", "Which [code|password] opens the door?", "[Tell me|Give me|Say|Please tell me|Please give me] the [password|door code].", "[Can|Could|Will] you [tell|give] me the [password|door code]?", "[What|Which] password do I [need|use]?",
            *indirect("[what the password is|which code opens the door|what the door code is]")],
        "The password is {v}."),
    Kind(lambda draw: draw.number(1000, 999999),
        ["[Our|The] [phone number|telephone number|number] is {v}.", "[Call|Phone|You can call|You can phone|Guests can call] [us|the shop] [at|on] {v}.", "[To call|To phone] us, [use|take] the number {v}.", "{v} is [our phone number|the number to call]."],
        ["[What is|What's|And what is] [your|the] [phone number|telephone number]?", "[What|Which] number [do|can|must] I call?", "How [do|can] I [call|phone] you?", "[Give me|Please give me|I need] [your|the] phone number.",
            *indirect("[what your phone number is|your phone number|which number I must call]")],
        "Our phone number is {v}."),
    Kind(lambda draw: draw.any(names.FOODS),
        ["[Today's special is {v}|The special is {v}|Our special is {v}|The special today is {v}].", "The [special|dish|meal|food] of the day is {v}.", "[Today|Today only], [we cook|we serve|we have|the cook makes|we offer] {v}.", "[We cook|We serve|The cook makes|The kitchen serves] {v} today.", "{v} is [the special today|today's special|the special of the day|our special|the dish of the day|what we cook today|what the cook makes today]."],
        ["[What is|What's|And what is] [today's special|the special|the special today|the special of the day|the dish of the day]?", "What [do you|does the cook] [cook|serve|make|offer] today?", "[What|Which food|Which dish] [can I|do I] [eat|get] today?",
            *indirect("[what the special is|what you cook today|today's special|the special of the day]")],
        "The special of the day is {v}."),
    Kind(lambda draw: draw.number(1, 40),
        ["[The|Our] {room} is [on floor {v}|on floor number {v}|up on floor {v}].", "[You find|You can find|Guests find|Visitors find] [the|our] {room} on floor [number |]{v}.", "[Go to|Take the lift to|Walk up to|Go up to] floor {v} for the {room}.", "[On floor {v} is the {room}|Floor {v} has the {room}|Floor {v} is where the {room} is]."],
        ["[On which|On what] floor [is|do I find|can I find] the {room}?", "[Which|What] floor [is the {room} on|has the {room}|do I go to for the {room}]?", "What is the floor of the {room}?", "[To which|To what] floor [do|must] I go for the {room}?",
            *indirect("[on which floor the {room} is|which floor the {room} is on|the floor of the {room}]")],
        "The {room} is on floor {v}."),
    Kind(names.person,
        ["[The|Our|The house|The shop] dog is [called|named] {v}.", "The name of [the|our] dog is {v}.", "[We have|There is|The shop has|The boss has] a dog [called|named] {v}.", "[We call|Everyone calls|People call] [the|our] dog {v}.", "[The|Our] dog's name is {v}.", "{v} is [the|our] dog."],
        ["[What is|What's|And what is] [the|your] dog [called|named]?", "What is the name of [the|your] dog?", "What is [the|your] dog's name?", "[What|How] do you call [the|your] dog?", "Which name does [the|your] dog have?",
            *indirect("[what the dog is called|the name of the dog|your dog's name|what your dog is called]")],
        "The dog is called {v}."),
    Kind(lambda draw: draw.number(1700, 2025),
        ["[We|The shop|Our shop|Our house] [began|started] in [the year |]{v}.", "[The shop|Our shop|Our house] was [founded|built|started] in [the year |]{v}.", "[The year we were founded|The year of our founding|The year it all began] is {v}.", "[We have been here|The shop has been here|We have worked|We have worked here] since {v}."],
        ["[In which|In what] year [did you begin|did you start|did the shop start|was the shop founded|were you founded|was the house founded]?", "[When|And when] [were you|was the shop|was the house] founded?", "Since which year [have you been here|has the shop been here]?", "[Which|What] year did [it all|the shop] begin?",
            *indirect("[when you were founded|in which year you started|when the shop was founded|the year of your founding]")],
        "We started in {v}."),
]


def knowledge(draw):
    """Facts in the system prompt, one of them asked for; or one that is not there."""
    kinds = draw.random.sample(KNOWLEDGE, draw.number(1, 4))
    room = draw.any(ROOMS)
    values = [kind.make(draw) for kind in kinds]
    told = [draw.say(kind.tells, v=value, room=room) for kind, value in zip(kinds, values)]
    system = " ".join(([draw.say(FORMS, name=names.person(draw), role=draw.one(ROLES))] if draw.chance(0.4) else []) + told)
    if draw.chance(0.15):
        missing = draw.any([kind for kind in KNOWLEDGE if kind not in kinds])
        return Episode("system", [user(draw.say(missing.asks, room=room)), assistant(IDK)], {"equals": IDK}, system=system)
    kind, value = draw.any(list(zip(kinds, values)))
    reply = kind.reply.replace("{v}", str(value)).replace("{room}", room)
    return Episode("system", [user(draw.say(kind.asks, room=room)), assistant(reply)], {"contains": [str(value)]}, system=system)


def only(draw):
    """One thing to say, whatever happens."""
    text = emblem(draw)
    question = draw.any([SAID["hello"], SAID["how"], WHO, SAID["thanks"]])
    return Episode("system", [user(draw.say(question)), assistant(text)], {"equals": text}, system=draw.say(NOTHING_ELSE, x=quoted(draw, text)))


class Style:
    """How every reply of a chat is written, and what that means for checks."""

    def __init__(self, system, write, check):
        self.system, self.write, self.check = system, write, check


def ending(draw):
    """Every reply ends with something."""
    text = emblem(draw)
    return Style(draw.say(END_WITH, x=quoted(draw, text)), lambda reply: f"{reply} {text}", {"ends": text})


def beginning(draw):
    """Every reply begins with something."""
    text = emblem(draw)
    return Style(draw.say(BEGIN_WITH, x=quoted(draw, text)), lambda reply: f"{text} {reply}", {"starts": text})


def address(draw):
    """Every reply begins with how the user is to be called."""
    title = draw.any([draw.one(TITLES), names.person(draw)])
    opening = title[0].upper() + title[1:]
    return Style(draw.say(ADDRESS, x=title), lambda reply: f"{opening}, {reply}", {"contains": [opening]})


def one_word(draw):
    """Replies are the short answers."""
    return Style(draw.say(ONE_WORD), None, {"words": 1})


def episode(draw):
    """What stands alone; styles are put on other episodes by chats."""
    return draw.any([persona, persona, register, knowledge, knowledge, only])(draw)
