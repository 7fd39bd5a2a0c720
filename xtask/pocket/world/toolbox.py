"""Tools to offer: a few everyday ones, and made-up ones without end. Knows their words, not the dialogues around them."""

import json
from dataclasses import dataclass
from typing import Callable

from . import names
from .draw import Draw


@dataclass
class Parameter:
    """An argument: its name, JSON type, description, and how a value is made up."""

    name: str
    kind: str
    description: str
    make: Callable


@dataclass
class Tool:
    """A tool with ways to ask for it; `{parameter}` stands where the value goes."""

    name: str
    description: str
    parameters: list
    requests: list
    # Makes the result: an object, or a text.
    result: Callable
    # How a request is chosen: of a made-up tool, any is new.
    choose: Callable = Draw.reply
    # How often its parameters are described: always when the name of one tells nothing.
    described: float = 0.8

    def spec(self, draw):
        """The tool as it is offered. Schemas differ in how much they say."""
        described = draw.chance(self.described)
        properties = {p.name: self.schema(p, described) for p in self.parameters}
        parameters = {"type": "object", "properties": properties}
        if properties and draw.chance(0.9):
            parameters["required"] = list(properties)
        description = self.description + draw.any(ENDINGS)
        return {"type": "function", "function": {"name": self.name, "description": description, "parameters": parameters}}

    def schema(self, parameter, described):
        """What is said of a parameter."""
        schema = {"type": parameter.kind}
        return {**schema, "description": parameter.description} if described else schema

    def arguments(self, draw):
        """New values for all parameters."""
        return {parameter.name: parameter.make(draw) for parameter in self.parameters}

    def request(self, draw, arguments):
        """What the user says to have it called with these arguments, without a capital or an end."""
        return self.choose(draw, self.requests, **{name: spelled(value) for name, value in arguments.items()})


@dataclass
class Habits:
    """What made-up tools are like: how their noun is chosen, what they depend on and on how much of it, and how often a parameter's name tells what it is."""

    noun: Callable
    places: list
    counts: list
    telling: float


# What descriptions go on with, which changes nothing.
ENDINGS = ["", "", "", "", "", "", ".", ". Use it when the user asks for it.", " for the user", ". Call it at most once."]


def spelled(value):
    """A value as people write it."""
    return "on" if value is True else "off" if value is False else str(value)


def clock_time(draw):
    """A time of day."""
    return f"{draw.number(0, 23):02}:{draw.any([0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, draw.number(0, 59)]):02}"


VERBS = "buy call clean water feed fix sell paint read bring wash find pack return order collect open close check move".split()


def errand(draw):
    """Something to do, in a few words."""
    return draw.any([
        lambda: f"{draw.one(VERBS)} the {names.thing(draw)}",
        lambda: f"{draw.one(VERBS)} {names.word(draw)} and {names.word(draw)}",
        lambda: f"call {names.person(draw)}",
        lambda: f"meet {names.person(draw)} in {names.town(draw)}",
        lambda: f"{draw.one(VERBS)} the {names.word(draw)} for {names.person(draw)}",
    ])()


def phrase(draw):
    """A few words to copy."""
    return " ".join(names.word(draw) for _ in range(draw.number(1, 4)))


def small(draw):
    """A number of one to three digits."""
    return draw.number(1, draw.any([12, 60, 999]))


TOWN = lambda name="city": Parameter(name, "string", "the town", names.town)
PERSON = lambda name="name": Parameter(name, "string", "the person", names.person)
DAY = lambda name="day": Parameter(name, "string", "the day of the week", lambda draw: draw.any(names.DAYS))
TIME = lambda name="time": Parameter(name, "string", "the time of day", clock_time)
TEXT = lambda name="text": Parameter(name, "string", "the text", errand)
WORD = lambda name="word": Parameter(name, "string", "the word", names.word)
QUERY = lambda name="query": Parameter(name, "string", "what to look for", phrase)
CODE = lambda name="code": Parameter(name, "string", "the code", names.code)
COUNT = lambda name="count": Parameter(name, "integer", "how many", small)
AMOUNT = lambda name="amount": Parameter(name, "number", "the amount", small)
NUMBER = lambda name="number": Parameter(name, "integer", "the number", small)
SWITCH = lambda name="on": Parameter(name, "boolean", "whether it is on", lambda draw: draw.chance(0.5))
LANGUAGE = lambda name="language": Parameter(name, "string", "the language", lambda draw: draw.any("French German Spanish Italian Dutch Polish Greek Danish Swedish".split()))
CURRENCY = lambda name: Parameter(name, "string", "the currency", lambda draw: draw.any("euro dollar yen pound franc krone peso rupee".split()))

DONE = lambda draw: draw.any([{"status": "done"}, {"status": "ok"}, {"done": True}])
SKY = "sunny cloudy rainy windy foggy snowy clear stormy".split()

EVERYDAY = [
    (["get_weather", "weather", "current_weather", "fetch_weather"], "Gets the weather of a town", [TOWN],
     ["[what is|what's|how is|tell me|give me|show me] the weather [like |]in {0}[ now| today|]", "is it [raining|cold|warm|sunny|windy|snowing] in {0}[ now| today|]", "does it [rain|snow] in {0}[ now| today|]", "do I need an umbrella in {0}[ today|]", "will it [rain|be cold|be warm|be sunny|snow] in {0}[ today| tomorrow|]",
      "weather in {0}[ now| today|]", "what does the sky look like in {0}[ now|]", "how [cold|warm|hot] is it in {0}[ now| today|]", "I [need|want] [to know |]the weather in {0}", "[check|look up|get] the weather [in|of|for] {0}"],
     lambda draw: {"temperature": draw.number(-9, 38), "sky": draw.any(SKY)}),
    (["clock", "get_time", "current_time", "now"], "Tells the time", [],
     ["what time is it[ now|]", "what is the time[ now|]", "what's the time[ now|]", "how late is it[ now|]", "do you [have|know] the time", "do you know how late it is[ now|]", "which time is it[ now|]", "the time[ now|]", "[tell|give] me the time[ now|]", "[check|look at|read] the clock[ for me|]", "I [need|want] to know the time[ now|]", "I have no watch, [what is the time|what time is it|how late is it]",
      "what does the clock say[ now|]", "[check|look up|get|say] the time"],
     lambda draw: {"time": clock_time(draw)}),
    (["world_clock", "time_in", "get_local_time"], "Tells the time in a town", [TOWN],
     ["what time is it in {0}[ now|]", "[what is|what's|tell me|give me|check|look up] the [local |]time in {0}[ now|]", "how late is it in {0}[ now|]", "which time do they have in {0}[ now|]", "the [local |]time in {0}", "is it [late|early] in {0}[ now|]", "what does the clock say in {0}[ now|]", "do you know the [local |]time in {0}",
      "I [need|want] to know the time in {0}", "do you know how late it is in {0}[ now|]"],
     lambda draw: {"time": clock_time(draw)}),
    (["set_timer", "start_timer", "timer"], "Starts a timer", [lambda name="minutes": Parameter(name, "integer", "the minutes", small)],
     ["[set|start|make|run] a timer [for|of|over] {0} minutes", "[wake|call] me [in|after] {0} minutes", "time {0} minutes", "[tell me|say|let me know] when {0} minutes are [over|up|gone]", "count {0} minutes", "I [need|want] a timer [for|of] {0} minutes", "let [the|a] timer run for {0} minutes", "a timer [for|of] {0} minutes", "[set|start] the timer [to|for|with] {0} minutes", "timer[ for|:] {0} minutes"], DONE),
    (["set_alarm", "alarm", "add_alarm"], "Sets an alarm", [TIME],
     ["[set|make|put|I need|I want] an alarm [for|at] {0}", "wake me [up |]at {0}", "the alarm should [ring|go|go off] at {0}", "I [have|want|need] to [get|be|wake] up at {0}[ sharp|]", "alarm [at|for] {0}", "[make|let] [it|the alarm] [ring|go off] at {0}", "[set|put] the alarm [on|to|for] {0}", "ring at {0}", "get me up at {0}", "an alarm [at|for] {0}"], DONE),
    (["add_reminder", "remind", "create_reminder"], "Reminds the user of something", [TEXT],
     ["remind me to {0}", "do not let me forget to {0}", "I must not forget to {0}", "[set|make|add|create] a reminder to {0}", "[set|make|add|create] a reminder: {0}", "remind me that I [have|need] to {0}", "I [need|want] a reminder to {0}", "tell me later to {0}", "remind me[: {0}| later to {0}| that I must {0}]", "a reminder to {0}", "I [have|need] to {0}, remind me", "reminder: {0}", "help me remember to {0}"], DONE),
    (["remind_at", "schedule_reminder"], "Reminds the user of something at some time", [TEXT, TIME],
     ["remind me at {1} to {0}", "remind me to {0} at {1}", "at {1} I [have|need] to {0}, remind me", "[set|make|create|add] a reminder for {1} to {0}", "at {1}, [tell|remind] me to {0}", "I [want|need] a reminder [at|for] {1}: {0}", "do not let me forget[ that I have|] to {0} at {1}", "[set|make|create|add] a reminder to {0} at {1}", "remind me at {1}: {0}", "a reminder [at|for] {1} to {0}", "I [have|need] to {0} at {1}, remind me", "reminder [at|for] {1}: {0}"], DONE),
    (["send_mail", "send_email", "mail", "write_mail"], "Sends a mail to a person", [lambda name="to": PERSON(name), lambda name="subject": Parameter(name, "string", "the subject", phrase)],
     ["[send|write] a mail to {0} about {1}", "[send|write] an email to {0} about {1}", "[mail|email] {0} about {1}", "[send|write] {0} [a mail|an email] [about|with the subject] {1}", "I [want|need|have] to [write|mail|email] {0} about {1}", "let {0} know by [mail|email] about {1}", "[a mail|an email] about {1} should go to {0}", "[mail|email] to {0}, subject {1}", "[send|write] a mail about {1} to {0}", "[mail|email] {0}, the subject is {1}"], DONE),
    (["send_message", "text_message", "message"], "Sends a message to a person", [lambda name="to": PERSON(name), TEXT],
     ["tell {0} to {1}", "send {0} a message to {1}", "[text|message] {0} to {1}", "write to {0} to {1}", "[message|text] {0}: {1}", "[send|write] a message to {0} saying {1}", "let {0} know: {1}", "ask {0} to {1}", "[send|write] {0} a message saying {1}", "[send|write] a message to {0}: {1}", "[a |]message to {0}: {1}", "[say|write] to {0}: {1}", "I want to [tell|ask] {0} to {1}"], DONE),
    (["call_person", "phone", "make_call", "dial"], "Calls a person by phone", [PERSON],
     ["[call|phone|dial|ring] {0}[ now|]", "make a [phone |]call to {0}", "I [want|need|have] to [talk|speak] to {0} on the phone", "start a [phone |]call with {0}", "get [me |]{0} on the phone", "put me through to {0}", "I [need|want|have] to [call|phone|ring] {0}", "[a |]phone call with {0}", "let me [call|talk to] {0} on the phone", "[ring|call|phone] {0} up[ now| again| for me|]"], DONE),
    (["translate", "translate_text", "translator"], "Translates a text", [lambda name="text": Parameter(name, "string", "the text", phrase), LANGUAGE],
     ["translate {0} [into|to] {1}", "how do [you|I|they] say {0} in {1}", "what [is|does one say for] {0} in {1}", "say {0} in {1}", "I need {0} in {1}", "what is the {1} [word|translation] [for|of] {0}", "[put|turn] {0} into {1}", "translate {0} for me [to|into] {1}", "translate from English [to|into] {1}: {0}", "what [does|will|would|did|may] {0} become in {1}[ then| now|]", "what do {0} become in {1}[ then| now|]", "{0} in {1}", "give me the {1} [word|translation] for {0}", "translate to {1}: {0}"],
     lambda draw: {"translation": names.invented(draw, 2)}),
    (["play_music", "play", "play_song", "start_music"], "Plays a song", [lambda name="title": Parameter(name, "string", "the title", phrase)],
     ["play [the song |me |]{0}", "I [want|would like] to hear [the song |]{0}", "put on [the song |]{0}", "[start|turn on] [the song |]{0}", "let me hear [the song |]{0}", "play [some music|a song|the music]: {0}", "put [the song |]{0} on", "can I hear [the song |]{0}", "turn [the song |]{0} on", "music: {0}"], DONE),
    (["set_light", "switch_light", "light"], "Switches the light of a room", [lambda name="room": Parameter(name, "string", "the room", lambda draw: draw.any("kitchen bathroom bedroom garage hall cellar office garden attic study".split())), SWITCH],
     ["[turn|switch|put] {1} the [light in the {0}|{0} light]", "[turn|switch|put] the [light in the {0}|{0} light] {1}", "light {1} in the {0}", "the [light in the {0}|{0} light] should be {1}", "make the [light in the {0}|{0} light] go {1}", "I want the [light in the {0}|{0} light] {1}", "[light in the {0}|{0} light] {1}", "let the [light in the {0}|{0} light] be {1}"], DONE),
    (["search_web", "web_search", "search", "look_up"], "Searches the web", [QUERY],
     ["search [the web|the internet|online] for {0}", "search [on the web|on the internet|for] {0}", "look up {0} [online|on the web|on the internet]", "look up {0}", "find [something about |]{0} [online|on the web|on the internet]", "find something about {0}", "google [for |]{0}[ for me| now| then|]", "[let us|let me|I have to|we should|go and] google {0}", "what does the [web|internet] say about {0}", "look for {0} [online|on the web|on the internet]", "look [online|on the web] for {0}", "[web|internet] search: {0}", "I want to [google|search for] {0}"],
     lambda draw: {"title": phrase(draw)}),
    (["add_note", "take_note", "save_note", "note"], "Writes a note", [TEXT],
     ["[note|note down|write down|take down]: {0}", "[make|take|write|save|keep|add] a note to {0}", "[make|take|write|save|keep|add] a note: {0}", "[put|write] [in|into] my notes to {0}", "[put|write] [in|into] my notes: {0}", "add to my notes[:| that I have to| to] {0}", "[note|note down|write down] that I [have|need] to {0}", "my notes should say: {0}", "a note: {0}"], DONE),
    (["convert_currency", "exchange", "convert_money"], "Converts money", [AMOUNT, lambda name="from": CURRENCY(name), lambda name="to": CURRENCY(name)],
     ["[convert|change|exchange|turn] {0} {1} [to|into] {2}", "how much [is|are] {0} {1} in {2}", "what [is|are] {0} {1} in {2}", "exchange {0} {1} for {2}", "I [want|need] to [change|convert|exchange] {0} {1} [to|into] {2}", "{0} {1} in {2}", "how many {2} are {0} {1}", "{0} {1} to {2}", "{0} {1} to {2}, please convert", "how much do I get for {0} {1} in {2}"],
     lambda draw: {"amount": draw.number(1, 999)}),
    (["book_table", "reserve_table", "reservation"], "Books a table", [lambda name="people": Parameter(name, "integer", "how many people", lambda draw: draw.number(1, 12)), TIME],
     ["[book|reserve|get me|get us] a table for {0}[ people|] at {1}", "[I|we] need a table for {0}[ people|] at {1}", "a table for {0}[ people|] at {1}", "at {1} [we|I] [want|need] a table for {0}[ people|]", "table for {0}[ people|] at {1}", "we are {0} people and come at {1}, [book|reserve] a table", "[a|one|book a|reserve a] table at {1} for {0}[ people|]", "reserve for {0} people at {1}", "[I|we] need a table at {1} for {0}[ people|]"], DONE),
    (["navigate", "get_route", "directions", "route"], "Finds the way between two towns", [lambda name="from": TOWN(name), lambda name="to": TOWN(name)],
     ["how [do|can] I [get|go|drive|travel|come] from {0} to {1}", "[find|show me|tell me|look up] the [way|route] from {0} to {1}", "I [want|need|have] to [go|get|drive|travel] from {0} to {1}", "[directions|route|the way] from {0} to {1}", "how far is it from {0} to {1}", "[take|bring|guide] me [all the way |]from {0} to {1}", "which [way|route] [leads|goes] from {0} to {1}", "how [do|can] I [get|go|drive|travel] to {1} from {0}"],
     lambda draw: {"distance": draw.number(5, 999)}),
    (["book_train", "train_ticket", "book_ticket"], "Books a train", [lambda name="to": TOWN(name), DAY],
     ["[book|get|find] [me |]a train to {0} [on|for] {1}", "I [need|want] a [train |]ticket to {0} [for|on] {1}", "on {1} I take the train to {0}, book [it|a ticket]", "book me to {0} on {1}", "[a|one] train ticket to {0} [on|for] {1}", "[book|reserve] a seat to {0} [on|for] {1}", "I want to go to {0} by train on {1}", "I [take|want to take] the train to {0} on {1}, book [it|a ticket]", "on {1} I go to {0} by train, book a [ticket|seat]", "train to {0}[,| on] {1}", "[book|get|buy] a [train |]ticket to {0} [for|on] {1}"],
     lambda draw: {"seat": draw.number(1, 99)}),
    (["define_word", "dictionary", "define"], "Looks a word up in the dictionary", [WORD],
     ["define [the word |]{0}", "what does the dictionary say [about|of|for] {0}", "look up [the word |]{0} in the dictionary", "look up the word {0}", "[give me|find|get|I need|I want|tell me|show me] the definition of [the word |]{0}", "find [the word |]{0} in the dictionary", "[what is |]the definition of [the word |]{0}", "definition of [the word |]{0}", "dictionary: {0}"],
     lambda draw: {"definition": phrase(draw)}),
    (["random_number", "roll", "dice", "pick_number"], "Picks a number by chance", [lambda name="low": Parameter(name, "integer", "the smallest", lambda draw: draw.number(0, 20)), lambda name="high": Parameter(name, "integer", "the largest", lambda draw: draw.number(21, 999))],
     ["[pick|choose|draw|roll|give me|I need|say] a [random |]number [between {0} and {1}|from {0} to {1}]", "a random number [between {0} and {1}|from {0} to {1}]", "[any|some] number [between {0} and {1}|from {0} to {1}]", "[pick|choose|give me] any number [between {0} and {1}|from {0} to {1}]", "a number by chance [between {0} and {1}|from {0} to {1}]", "roll [from {0} to {1}|between {0} and {1}]"],
     lambda draw: {"number": draw.number(1, 999)}),
    (["add_item", "shopping_list", "add_to_list"], "Puts something on the shopping list", [lambda name="item": Parameter(name, "string", "what to buy", names.thing), COUNT],
     ["[add|put|write] {1} {0} [to|on] the shopping list", "[add|put|write] {1} {0} on the list", "[we|I] need {1} {0}[ on the list|]", "I have to buy {1} {0}, put [it|them] on [the|my] list", "[add|put] {0} [to|on] the [shopping |]list, {1} of [them|it]", "shopping list: {1} {0}", "{1} {0} should go on the [shopping |]list", "{0}, {1} of [them|it], on the [shopping |]list", "{1} {0} for the shopping list"], DONE),
    (["read_file", "open_file", "show_file"], "Reads a file", [lambda name="path": Parameter(name, "string", "the file", lambda draw: f"{names.word(draw)}.{draw.any(['txt', 'md', 'json', 'csv', 'log'])}")],
     ["[read|open|show|print] [the file |]{0}", "[show|read] me [the file |]{0}", "what [is|stands] in [the file |]{0}", "what does [the file |]{0} say", "[read|show] [the file |]{0} to me", "[show|print|read|give me] the content of [the file |]{0}", "open and read [the file |]{0}", "I [want|need] to [see|read] [the file |]{0}", "let me see [the file |]{0}"],
     lambda draw: {"content": phrase(draw)}),
    (["get_price", "stock_price", "price"], "Gets the price of a share", [lambda name="symbol": Parameter(name, "string", "the symbol", lambda draw: draw.made(lambda: "".join(draw.any("ABCDEFGHKLMNPRSTUVWXYZ") for _ in range(draw.number(2, 4)))))],
     ["[what is|what's|tell me|show me|get|give me|check] the [share |stock |]price of {0}[ now| shares|]", "how much is [one|a] share of {0}[ now|]", "[share |stock |]price of {0}[ now|]", "what does [a share of |]{0} cost[ now|]", "how is {0} doing[ now|]", "what do {0} shares cost[ now|]", "[check|look up] the price of {0}", "I [need|want] the price of {0}", "how much is {0}[ now|]"],
     lambda draw: {"price": draw.number(1, 999)}),
    (["calculator", "calculate", "multiply"], "Multiplies two numbers", [lambda name="a": NUMBER(name), lambda name="b": NUMBER(name)],
     ["[multiply|please multiply] {0} [by|with|and] {1}", "[what is|what's|how much is|calculate|compute|tell me|give me] {0} times {1}", "{0} times {1}", "[what is|what's|calculate|compute|how much is] {0} * {1}", "[the|what is the|give me the|I need the|calculate the] product of {0} and {1}", "what does {0} times {1} [make|give]", "{0} * {1}"],
     lambda draw: {"result": draw.number(1, 9999)}),
]

# Verbs of made-up tools: how functions, people and descriptions say them.
ACTIONS = [
    (["get", "fetch", "show", "read"], ["show me", "get", "get me", "tell me", "give me", "I need", "what is", "fetch"], "Gets"),
    (["find", "search", "lookup", "locate"], ["find", "look up", "search for", "look for", "where is"], "Finds"),
    (["check", "test", "verify", "inspect"], ["check", "test", "have a look at", "verify", "inspect"], "Checks"),
    (["delete", "remove", "drop"], ["delete", "remove", "throw away", "get rid of", "drop"], "Deletes"),
    (["create", "make", "add", "new"], ["create", "make", "set up", "add"], "Creates"),
    (["start", "run", "launch"], ["start", "run", "launch", "switch on"], "Starts"),
    (["stop", "end", "halt", "cancel"], ["stop", "end", "cancel", "halt"], "Stops"),
    (["update", "change", "edit"], ["update", "change", "edit", "modify"], "Changes"),
    (["open", "unlock"], ["open", "unlock"], "Opens"),
    (["close", "lock"], ["close", "lock", "shut"], "Closes"),
    (["book", "reserve", "order"], ["book", "reserve", "order"], "Books"),
    (["count", "measure"], ["count", "measure"], "Counts"),
    (["print", "export"], ["print", "export"], "Prints"),
    (["save", "store", "keep"], ["save", "store", "keep"], "Saves"),
    (["paint", "draw"], ["paint", "draw"], "Paints"),
]
PLACES = [
    ("of {}", ["person", "name", "user", "owner", "customer", "friend", "client", "employee"], PERSON),
    ("in {}", ["city", "town", "place", "location", "site", "destination"], TOWN),
    ("for {}", ["day", "weekday", "date", "when"], DAY),
    ("at {}", ["time", "hour", "start", "moment"], TIME),
    ("number {}", ["number", "id", "index", "position", "line"], NUMBER),
    ("with the code {}", ["code", "key", "reference", "serial", "token"], CODE),
    ("called {}", ["title", "label", "word", "tag", "topic"], WORD),
    ("for {} people", ["count", "people", "guests", "size", "seats"], COUNT),
]


def everyday(draw):
    """One of the everyday tools; its name and those of its parameters vary."""
    tool_names, description, parameters, requests, result = draw.any(EVERYDAY)
    made = [make() for make in parameters]
    return Tool(draw.any(tool_names), description, made, numbered(requests, made), result, Draw.say)


def numbered(requests, parameters):
    """Requests with the parameters' names in the place of their numbers."""
    for index, parameter in enumerate(parameters):
        requests = [request.replace("{" + str(index) + "}", "{" + parameter.name + "}") for request in requests]
    return requests


def usual_noun(draw):
    """What a tool is for: a listed word or an invented one, perhaps with another before it."""
    noun = draw.one(names.NOUNS if draw.chance(0.6) else names.LOWER) if draw.chance(0.6) else names.invented(draw, 2)
    return f"{draw.one(names.NOUNS)} {noun}" if draw.chance(0.15) else noun


def drilled_noun(draw):
    """What a tool is for, in words that are seldom copied elsewhere."""
    noun = drilled_word(draw)
    return f"{draw.any([names.spliced, names.numbered])(draw)} {noun}" if draw.chance(0.2) else noun


def drilled_word(draw):
    """A word to copy: mostly one that has a whole listed word in it."""
    return draw.any([names.numbered, names.numbered, names.spliced, names.invented, names.word])(draw)


def drilled_phrase(draw):
    """A few such words; one may come twice."""
    words = [drilled_word(draw) for _ in range(draw.number(1, 4))]
    return " ".join([*words, draw.any(words)] if draw.chance(0.1) else words)


USUAL = Habits(usual_noun, PLACES, [0, 1, 1, 1, 2, 2], 0.7)
# Here only the description tells one argument from the other, and every word has to be read.
DRILLED = Habits(
    drilled_noun,
    [
        *(place for place in PLACES if place[0] != "called {}"),
        ("called {}", ["title", "label", "word", "tag", "topic"], lambda name="word": Parameter(name, "string", "the word", drilled_word)),
        ("about {}", ["subject", "text", "query", "note"], lambda name="text": Parameter(name, "string", "the text", drilled_phrase)),
    ],
    [1, 2, 2, 2],
    0.35,
)


def made_up(draw, habits=USUAL):
    """A tool that nobody has offered before: a verb, a noun, and what it depends on."""
    verbs, said, describes = draw.any(ACTIONS)
    noun = habits.noun(draw)
    places = draw.random.sample(habits.places, draw.any(habits.counts))
    telling = draw.chance(habits.telling)
    parameters = [place[2](draw.any(place[1]) if telling or draw.chance(0.5) else names.invented(draw, 1)) for place in places]
    slots = [place[0].replace("{}", "{" + p.name + "}") for place, p in zip(places, parameters)]
    if len({p.name for p in parameters}) < len(parameters):
        return made_up(draw, habits)
    object_ = noun.replace(" ", "_")
    name = f"{draw.any(verbs)}_{object_}" if draw.chance(0.6) else f"{object_}_{draw.any(verbs)}"
    requests = [" ".join([verb, f"the {noun}", *order]) for verb in said for order in (slots, slots[::-1])]
    return Tool(name, f"{describes} the {noun}", parameters, requests, result_of(draw, noun), described=0.8 if telling else 1.0)


def result_of(draw, noun):
    """What a made-up tool gives back: a state, a value, or some of both."""
    key = draw.any(["status", "state", "value", "result", "count", noun.split()[-1]])
    return lambda draw: {key: draw.any([small(draw), names.word(draw), names.code(draw), names.person(draw)])}


def any_tool(draw):
    """A tool of either kind."""
    return everyday(draw) if draw.chance(0.45) else made_up(draw)


def drilled_tool(draw):
    """A tool that is hard to call: most are made up."""
    return everyday(draw) if draw.chance(0.2) else made_up(draw, DRILLED)


def offered(draw, count, make=any_tool):
    """Different tools, which do not do the same."""
    tools = []
    while len(tools) < count:
        tool = make(draw)
        if all(tool.name != other.name and tool.description != other.description for other in tools):
            tools.append(tool)
    return tools


def call(tool, arguments):
    """A call as the reply has it."""
    return {"name": tool.name, "arguments": arguments}


def as_text(draw, result):
    """A result as the tool's message has it; programs differ in the spaces of their JSON."""
    if isinstance(result, str):
        return result
    return json.dumps(result, ensure_ascii=False, separators=draw.any([(",", ":"), (", ", ": ")]))
