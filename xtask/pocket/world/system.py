"""System prompts: a persona, what it knows, how it must write."""

from . import names, toolbox
from .dialogue import Episode, assistant, user

FORMS = ["You are {name}, {role}.", "Your name is {name}. You are {role}.", "You are {role} called {name}.", "Play the role of {name}, {role}.", "Act as {name}, {role}.", "In this chat you are {name}, {role}.",
    "Be {name}, {role}.", "[Pretend|Imagine] you are {name}, {role}.",
    "In this chat your name is {name}, and you are {role}.", "You speak as {name}, {role}."]
ROLES = ["a pirate", "a robot", "a wizard", "a cook", "a friendly guide", "a ship's captain", "a detective", "a knight", "a librarian", "an old fisherman", "a doctor", "a teacher", "a shop assistant", "a hotel clerk", "a gardener",
    "a travel agent", "a poet", "a dragon", "a ghost", "a queen", "a helpful assistant", "an astronaut", "a baker", "a coach", "a clown", "a farmer",
    "a king", "an old sailor", "a witch", "a magician", "a fisher", "an old wizard of the north", "a princess"]
WHO = ["Who are you?", "What is your name?", "Who am I talking to?", "Introduce yourself[, please|].", "Tell me who you are.", "And who are you?", "What are you called?", "What's your name?", "Who is this?", "What are you?",
    "Please introduce yourself.", "Do introduce yourself.", "Can you introduce yourself?"]

ONE_WORD = ["[Answer|Reply] in one word.", "[Always answer|Answer only] with one word.", "Use one word for each answer.", "Your answers are one word long.", "Say only one word.", "Every reply must be a single word.", "Be as short as you can: one word.",
    "Answer with a single word.", "Give one-word answers.",
    "Use one word for every answer.", "Use a single word.", "One word is enough for each answer."]
END_WITH = ["Always end with {x}", "End [every|each] [reply|answer] with {x}", "Finish [every|each] [reply|answer] with {x}", "Put {x} at the end of [every|each] [reply|answer].", "The last thing you say is always {x}", "All your replies end with {x}",
    "Close each reply with {x}", "Your replies must end with {x}",
    "Let each reply finish with {x}", "Finish all you say with {x}", "Finish with {x}"]
BEGIN_WITH = ["Always begin with {x}", "Begin [every|each] [reply|answer] with {x}", "Start [every|each] [reply|answer] with {x}", "Put {x} at the start of [every|each] [reply|answer].", "The first thing you say is always {x}", "All your replies begin with {x}",
    "Open each reply with {x}", "Your replies must start with {x}",
    "Start all replies with {x}", "Start with {x}", "Let the first thing you say be {x}"]
ADDRESS = ["Call the user {x}.", "Address the user as {x}.", "The user wants to be called {x}.", "Speak to the user as {x}.", "You talk to {x}. Say the name in each reply.", "Always use the name {x} when you reply.", "Say {x} to the user.", "The user is {x}; say so in each reply.",
    "Call me {x}.", "Call the person you talk to {x}.", "You talk to {x}. Use the name."]
NOTHING_ELSE = ["Whatever the user says, reply with {x}", "Answer everything with {x}", "Your only reply is {x}", "Always say {x} and nothing else.", "No matter what is asked, say {x}", "The only thing you ever say is {x}", "Reply to every message with {x}", "To everything, answer {x}",
    "Reply with {x} whatever the user says.", "Whatever you are asked, reply with {x}"]
FORMAL = ["Be formal.", "Speak in a formal way.", "Use formal language.", "Write formally.", "Keep a formal tone.", "Be very polite and formal.", "Your tone is formal.", "Talk like a butler.",
    "Speak formally.", "Speak in a formal tone."]
CASUAL = ["Be casual.", "Speak in a casual way.", "Use casual language.", "Write casually.", "Keep a casual tone.", "Be relaxed and casual.", "Your tone is casual.", "Talk like a friend.",
    "Be relaxed.", "Be casual and relaxed, please."]
REGISTERS = {
    "formal": (FORMAL, {"hello": "Good day. How may I be of service?", "thanks": "It was my pleasure.", "bye": "I wish you a pleasant day. Goodbye.", "how": "I am very well, I thank you."}),
    "casual": (CASUAL, {"hello": "Hey! What's up?", "thanks": "No worries!", "bye": "See you!", "how": "All good here!"}),
}
SAID = {
    "hello": ["Hi", "Hello", "Hello there", "Hi there", "Good day", "Hey", "Hello!", "Greetings"],
    "thanks": ["Thank you.", "Thanks.", "Thanks a lot.", "Thank you very much.", "Many thanks.", "Great, thank you.", "Thanks!", "Thank you so much."],
    "bye": ["Bye.", "Goodbye.", "See you.", "I have to go.", "Bye bye.", "Until next time.", "I am leaving now.", "That was all, goodbye."],
    "how": ["How are you?", "How are you doing?", "How is it going?", "How do you feel?", "Are you well?", "How's it going?", "How have you been?", "How are things?"],
}

EMBLEMS = ["Ahoy!", "Over and out.", "Have a nice day!", "Yes, sir!", "Beep boop.", "Arr!", "Cheers!", "As you wish.", "Meow.", "So be it.", "The end.", "Amen.", "Roger.", "Woof!", "Indeed.", "Hurray!", "Good luck!", "Take care!", "Done.", "Peace!",
    "So it is.", "Hurrah!", "Very well.", "Onwards!", "Good day!"]
TITLES = ["Sir", "Madam", "Captain", "Boss", "Your Majesty", "Professor", "Doctor", "Chief", "my friend", "Master", "Coach", "General",
    "Prof", "Admiral", "Lord", "Lady"]


def emblem(draw):
    """Something short to say again and again."""
    if draw.chance(0.35):
        return draw.one(EMBLEMS)
    words = " ".join(names.word(draw) for _ in range(draw.number(1, 2)))
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


KNOWLEDGE = [
    ("opening hour", lambda draw: toolbox.clock_time(draw), ["We open at {v}.", "The opening hour is {v}.", "Our doors open at {v}.", "The shop opens at {v}.", "Open from {v} on.", "We are open from {v}."],
     ["When do you open?", "At what time do you open?", "What is the opening hour?", "From when are you open?", "How early do you open?", "When can I come?"], "We open at {v}."),
    ("closing hour", lambda draw: toolbox.clock_time(draw), ["We close at {v}.", "The closing hour is {v}.", "Our doors close at {v}.", "The shop closes at {v}.", "Open until {v}.", "We shut at {v}."],
     ["When do you close?", "At what time do you close?", "What is the closing hour?", "Until when are you open?", "How late are you open?", "When do you shut?"], "We close at {v}."),
    ("town", names.town, ["We are in {v}.", "The shop is in {v}.", "You find us in {v}.", "Our address is in {v}.", "Our house stands in {v}.", "{v} is where we are."],
     ["Where are you?", "In which town are you?", "Where do I find you?", "Where is the shop?", "What town are you in?", "Where can I visit you?"], "We are in {v}."),
    ("price", lambda draw: draw.number(1, 999), ["A ticket costs {v} euro.", "The price is {v} euro.", "One pays {v} euro.", "It costs {v} euro.", "Tickets are {v} euro.", "The ticket price is {v} euro."],
     ["What does it cost?", "How much is a ticket?", "What is the price?", "How much do I pay?", "What do tickets cost?", "How expensive is it?"], "It costs {v} euro."),
    ("boss", names.person, ["The boss is {v}.", "{v} is the boss.", "Our boss is called {v}.", "The owner is {v}.", "The shop belongs to {v}.", "{v} owns the place."],
     ["Who is the boss?", "Who owns the place?", "Who is in charge?", "Who is the owner?", "What is the boss called?", "To whom does it belong?"], "The boss is {v}."),
    ("password", names.code, ["The password is {v}.", "The code of the door is {v}.", "Guests get the password {v}.", "The door opens with {v}.", "The wifi password is {v}.", "Use {v} as the password."],
     ["What is the password?", "Which code opens the door?", "What is the code?", "Tell me the password.", "What's the password?", "Give me the password."], "The password is {v}."),
]


def knowledge(draw):
    """Facts in the system prompt, one of them asked for; or one that is not there."""
    rows = draw.random.sample(KNOWLEDGE, draw.number(1, 4))
    values = [row[1](draw) for row in rows]
    told = [draw.say(row[2], v=value) for row, value in zip(rows, values)]
    system = " ".join(([draw.say(FORMS, name=names.person(draw), role=draw.one(ROLES))] if draw.chance(0.4) else []) + told)
    index = draw.number(0, len(rows) - 1)
    reply = rows[index][4].replace("{v}", str(values[index]))
    return Episode("system", [user(draw.say(rows[index][3])), assistant(reply)], {"contains": [str(values[index])]}, system=system)


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
