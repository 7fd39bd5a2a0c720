"""Tools to offer: a few everyday ones, and made-up ones without end. Knows their words, not the dialogues around them."""

import json
from dataclasses import dataclass
from typing import Callable

from . import names


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

    def spec(self, draw):
        """The tool as it is offered. Schemas differ in how much they say."""
        described = draw.chance(0.8)
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
        return draw.reply(self.requests, **{name: spelled(value) for name, value in arguments.items()})


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
     ["what is the weather [like |]in {0}", "how is the weather in {0}", "tell me the weather in {0}", "is it raining in {0}", "do I need an umbrella in {0}", "is it cold in {0}", "weather in {0}", "what does the sky look like in {0}", "does it rain in {0}[ now|]", "will it be cold in {0}", "is it warm in {0}", "how cold is it in {0}"],
     lambda draw: {"temperature": draw.number(-9, 38), "sky": draw.any(SKY)}),
    (["clock", "get_time", "current_time", "now"], "Tells the time", [],
     ["what time is it[ now|]", "tell me the time", "what is the time", "how late is it", "do you have the time", "can you check the clock", "I need to know the time", "which time is it now", "the time", "I have no watch, what is the time", "please check the time", "do you know the time", "do you know how late it is"],
     lambda draw: {"time": clock_time(draw)}),
    (["world_clock", "time_in", "get_local_time"], "Tells the time in a town", [TOWN],
     ["what time is it in {0}", "tell me the time in {0}", "what is the local time in {0}", "how late is it in {0}", "which time do they have in {0}", "the time in {0}", "is it late in {0}", "what does the clock say in {0}", "do you know the time in {0}", "is it early in {0}", "how late is it in {0} now"],
     lambda draw: {"time": clock_time(draw)}),
    (["set_timer", "start_timer", "timer"], "Starts a timer", [lambda name="minutes": Parameter(name, "integer", "the minutes", small)],
     ["set a timer [for|of] {0} minutes", "start a timer of {0} minutes", "wake me in {0} minutes", "time {0} minutes", "tell me when {0} minutes are over", "count {0} minutes", "I need a timer for {0} minutes", "let the timer run for {0} minutes", "a timer for {0} minutes", "set the timer to {0} minutes", "say when {0} minutes are over"], DONE),
    (["set_alarm", "alarm", "add_alarm"], "Sets an alarm", [TIME],
     ["set an alarm for {0}", "wake me at {0}", "wake me up at {0}", "the alarm should ring at {0}", "I have to get up at {0}", "alarm at {0}", "make it ring at {0}", "put the alarm on {0}", "let it ring at {0}", "make the alarm go at {0}", "ring at {0}"], DONE),
    (["add_reminder", "remind", "create_reminder"], "Reminds the user of something", [TEXT],
     ["remind me to {0}", "do not let me forget to {0}", "I must not forget to {0}", "set a reminder to {0}", "make a reminder: {0}", "remind me that I have to {0}", "I need a reminder to {0}", "tell me later to {0}", "remind me: {0}", "a reminder to {0}", "I have to {0}, remind me"], DONE),
    (["remind_at", "schedule_reminder"], "Reminds the user of something at some time", [TEXT, TIME],
     ["remind me at {1} to {0}", "remind me to {0} at {1}", "at {1} I have to {0}, remind me", "set a reminder for {1} to {0}", "at {1}, tell me to {0}", "I want a reminder at {1}: {0}", "do not let me forget to {0} at {1}", "make a reminder to {0} at {1}", "remind me at {1}: {0}", "a reminder at {1} to {0}", "I have to {0} at {1}, remind me"], DONE),
    (["send_mail", "send_email", "mail", "write_mail"], "Sends a mail to a person", [lambda name="to": PERSON(name), lambda name="subject": Parameter(name, "string", "the subject", phrase)],
     ["send a mail to {0} about {1}", "write a mail to {0} about {1}", "mail {0} about {1}", "send {0} a mail with the subject {1}", "I want to write to {0} about {1}", "let {0} know by mail about {1}", "a mail about {1} should go to {0}", "email {0} about {1}", "I want to mail {0} about {1}", "write {0} a mail about {1}", "mail to {0}, subject {1}"], DONE),
    (["send_message", "text_message", "message"], "Sends a message to a person", [lambda name="to": PERSON(name), TEXT],
     ["tell {0} to {1}", "send {0} a message to {1}", "text {0} to {1}", "write to {0} to {1}", "message {0}: {1}", "send a message to {0} saying {1}", "let {0} know: {1}", "ask {0} to {1}", "send {0} a message saying {1}", "send a message to {0} to {1}", "a message to {0}: {1}"], DONE),
    (["call_person", "phone", "make_call", "dial"], "Calls a person by phone", [PERSON],
     ["call {0}", "phone {0}", "ring {0}", "make a call to {0}", "I want to talk to {0} on the phone", "dial {0}", "start a call with {0}", "get {0} on the phone", "get me {0} on the phone", "put me through to {0}", "I need to call {0}"], DONE),
    (["translate", "translate_text", "translator"], "Translates a text", [lambda name="text": Parameter(name, "string", "the text", phrase), LANGUAGE],
     ["translate {0} into {1}", "how do you say {0} in {1}", "what is {0} in {1}", "translate {0} to {1}", "say {0} in {1}", "I need {0} in {1}", "what is the {1} word for {0}", "put {0} into {1}", "translate {0} for me to {1}", "translate from English to {1}: {0}", "what does {0} become in {1}"],
     lambda draw: {"translation": names.made_up(draw, 2)}),
    (["play_music", "play", "play_song", "start_music"], "Plays a song", [lambda name="title": Parameter(name, "string", "the title", phrase)],
     ["play {0}", "play the song {0}", "I want to hear {0}", "put on {0}", "start the song {0}", "let me hear {0}", "play some music: {0}", "turn on {0}", "put {0} on", "put the song {0} on", "can I hear {0}"], DONE),
    (["set_light", "switch_light", "light"], "Switches the light of a room", [lambda name="room": Parameter(name, "string", "the room", lambda draw: draw.any("kitchen bathroom bedroom garage hall cellar office garden attic study".split())), SWITCH],
     ["turn {1} the light in the {0}", "switch the {0} light {1}", "light {1} in the {0}", "turn the light in the {0} {1}", "switch {1} the light in the {0}", "the light in the {0} should be {1}", "make the {0} light go {1}", "put the {0} light {1}", "turn {1} the {0} light", "turn the {0} light {1}", "put the light in the {0} {1}"], DONE),
    (["search_web", "web_search", "search", "look_up"], "Searches the web", [QUERY],
     ["search the web for {0}", "search for {0}", "look up {0}[ on the web|]", "find something about {0}[ on the web|]", "google {0}", "what does the web say about {0}", "search the internet for {0}", "look for {0} on the internet", "google for {0}", "search online for {0}", "find {0} on the web"],
     lambda draw: {"title": phrase(draw)}),
    (["add_note", "take_note", "save_note", "note"], "Writes a note", [TEXT],
     ["note: {0}", "write down: {0}", "make a note to {0}", "take a note: {0}", "save a note to {0}", "put in my notes to {0}", "add to my notes: {0}", "note down that I have to {0}", "put into my notes: {0}", "my notes should say: {0}", "keep a note: {0}"], DONE),
    (["convert_currency", "exchange", "convert_money"], "Converts money", [AMOUNT, lambda name="from": CURRENCY(name), lambda name="to": CURRENCY(name)],
     ["convert {0} {1} to {2}", "how much is {0} {1} in {2}", "change {0} {1} into {2}", "what are {0} {1} in {2}", "exchange {0} {1} for {2}", "I want to change {0} {1} to {2}", "{0} {1} in {2}", "turn {0} {1} into {2}", "exchange {0} {1} to {2}", "how many {2} are {0} {1}", "{0} {1} to {2}, please convert"],
     lambda draw: {"amount": draw.number(1, 999)}),
    (["book_table", "reserve_table", "reservation"], "Books a table", [lambda name="people": Parameter(name, "integer", "how many people", lambda draw: draw.number(1, 12)), TIME],
     ["book a table for {0} at {1}", "reserve a table for {0} people at {1}", "I need a table for {0} at {1}", "a table for {0} at {1}", "get us a table for {0} people at {1}", "at {1} we want a table for {0}", "table for {0} at {1}", "we are {0} people and come at {1}, book a table", "a table at {1} for {0}", "please reserve for {0} people at {1}", "we need a table at {1} for {0}"], DONE),
    (["navigate", "get_route", "directions", "route"], "Finds the way between two towns", [lambda name="from": TOWN(name), lambda name="to": TOWN(name)],
     ["how do I get from {0} to {1}", "find the way from {0} to {1}", "show me the route from {0} to {1}", "I want to go from {0} to {1}", "directions from {0} to {1}", "how far is it from {0} to {1}", "take me from {0} to {1}", "which way leads from {0} to {1}", "how do I go from {0} to {1}", "how do I drive from {0} to {1}", "how can I get to {1} from {0}"],
     lambda draw: {"distance": draw.number(5, 999)}),
    (["book_train", "train_ticket", "book_ticket"], "Books a train", [lambda name="to": TOWN(name), DAY],
     ["book a train to {0} on {1}", "I need a ticket to {0} for {1}", "get me a train to {0} on {1}", "on {1} I take the train to {0}, book it", "book me to {0} on {1}", "a train ticket to {0} on {1}", "reserve a seat to {0} on {1}", "I want to go to {0} by train on {1}", "I take the train to {0} on {1}, book it", "on {1} I go to {0} by train, book a ticket", "train to {0}, {1}"],
     lambda draw: {"seat": draw.number(1, 99)}),
    (["define_word", "dictionary", "define"], "Looks a word up in the dictionary", [WORD],
     ["define {0}", "what does the dictionary say about {0}", "look up the word {0}", "look up {0} in the dictionary", "give me the definition of {0}", "find {0} in the dictionary", "definition of {0}", "I need the definition of {0}", "find the definition of {0}", "I want the definition of {0}", "what is the definition of {0}"],
     lambda draw: {"definition": phrase(draw)}),
    (["random_number", "roll", "dice", "pick_number"], "Picks a number by chance", [lambda name="low": Parameter(name, "integer", "the smallest", lambda draw: draw.number(0, 20)), lambda name="high": Parameter(name, "integer", "the largest", lambda draw: draw.number(21, 999))],
     ["pick a number between {0} and {1}", "give me a random number from {0} to {1}", "a random number between {0} and {1}", "roll a number from {0} to {1}", "choose a number from {0} to {1}", "draw a number between {0} and {1}", "any number from {0} to {1}", "I need a number between {0} and {1}", "any number between {0} and {1}", "some number from {0} to {1}", "a number by chance from {0} to {1}"],
     lambda draw: {"number": draw.number(1, 999)}),
    (["add_item", "shopping_list", "add_to_list"], "Puts something on the shopping list", [lambda name="item": Parameter(name, "string", "what to buy", names.thing), COUNT],
     ["add {1} {0} to the shopping list", "put {1} {0} on the list", "we need {1} {0}", "I have to buy {1} {0}, put it on the list", "add {0} to the list, {1} of them", "write {1} {0} on the shopping list", "shopping list: {1} {0}", "{1} {0} should go on the list", "put {1} {0} on the shopping list", "add {0} to the shopping list, {1} of it", "{0}, {1} of them, on the list"], DONE),
    (["read_file", "open_file", "show_file"], "Reads a file", [lambda name="path": Parameter(name, "string", "the file", lambda draw: f"{names.word(draw)}.{draw.any(['txt', 'md', 'json', 'csv', 'log'])}")],
     ["read the file {0}", "open {0}", "show me {0}", "what is in {0}", "what does {0} say", "read {0} to me", "print the file {0}", "show the content of {0}", "open the file {0}", "please open and read {0}", "read {0}"],
     lambda draw: {"content": phrase(draw)}),
    (["get_price", "stock_price", "price"], "Gets the price of a share", [lambda name="symbol": Parameter(name, "string", "the symbol", lambda draw: draw.made(lambda: "".join(draw.any("ABCDEFGHKLMNPRSTUVWXYZ") for _ in range(draw.number(2, 4)))))],
     ["what is the price of {0}", "how much is one share of {0}", "get the price of {0}", "price of {0}", "what does {0} cost now", "show me the price of {0} shares", "how is {0} doing", "tell me the share price of {0}", "show me the price of {0}", "what do {0} shares cost", "the price of {0} shares"],
     lambda draw: {"price": draw.number(1, 999)}),
    (["calculator", "calculate", "multiply"], "Multiplies two numbers", [lambda name="a": NUMBER(name), lambda name="b": NUMBER(name)],
     ["multiply {0} by {1}", "what is {0} times {1}", "{0} times {1}", "calculate {0} * {1}", "how much is {0} times {1}", "compute {0} * {1}", "the product of {0} and {1}", "multiply {0} and {1}", "compute {0} times {1}", "calculate {0} times {1}", "what does {0} * {1} make"],
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
NOUNS = """account address album article balance battery bill board brand budget calendar camera card channel chart class client
contract course customer delivery device document door engine event exam field flight folder game gate group guest heater
hotel image invoice job label lesson letter level library link lock log machine map meeting member menu model movie network
order package page parcel parking password patient payment phone photo plan player playlist policy post printer product profile
project question queue rating recipe record rental repair report review robot room route salary sample schedule screen sensor
server service shift shop signal slot song status stock store student subject summary survey system table task tax team
temperature test ticket tour tracker trip vehicle version video visit volume warehouse website wheel worker""".split()
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
    return Tool(draw.any(tool_names), description, made, numbered(draw.of_this_side(requests), made), result)


def numbered(requests, parameters):
    """Requests with the parameters' names in the place of their numbers."""
    for index, parameter in enumerate(parameters):
        requests = [request.replace("{" + str(index) + "}", "{" + parameter.name + "}") for request in requests]
    return requests


def made_up(draw):
    """A tool that nobody has offered before: a verb, a noun, and what it depends on."""
    verbs, said, describes = draw.any(ACTIONS)
    noun = draw.one(NOUNS) if draw.chance(0.5) else names.made_up(draw, 2)
    if draw.chance(0.15):
        noun = f"{draw.one(NOUNS)} {noun}"
    places = draw.random.sample(PLACES, draw.any([0, 1, 1, 1, 2, 2]))
    parameters = [place[2](draw.any(place[1]) if draw.chance(0.8) else names.made_up(draw, 1)) for place in places]
    slots = [place[0].replace("{}", "{" + p.name + "}") for place, p in zip(places, parameters)]
    if len({p.name for p in parameters}) < len(parameters):
        return made_up(draw)
    object_ = noun.replace(" ", "_")
    name = f"{draw.any(verbs)}_{object_}" if draw.chance(0.85) else f"{object_}_{draw.any(verbs)}"
    requests = [" ".join([verb, f"the {noun}", *order]) for verb in said for order in (slots, slots[::-1])]
    return Tool(name, f"{describes} the {noun}", parameters, requests, result_of(draw, noun))


def result_of(draw, noun):
    """What a made-up tool gives back: a state, a value, or some of both."""
    key = draw.any(["status", "state", "value", "result", "count", noun.split()[-1]])
    return lambda draw: {key: draw.any([small(draw), names.word(draw), names.code(draw), names.person(draw)])}


def any_tool(draw):
    """A tool of either kind."""
    return everyday(draw) if draw.chance(0.45) else made_up(draw)


def offered(draw, count):
    """Different tools, which do not do the same."""
    tools = []
    while len(tools) < count:
        tool = any_tool(draw)
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
