"""Fields out of a sentence, as a JSON object."""

import json

from . import names, toolbox
from .dialogue import Episode, assistant, user

ORDERS = ["Extract {fields} as JSON: {text}", "[Give me|Return] {fields} as JSON. {text}", "{text}\n[Extract|Return] {fields} as JSON.", "Write {fields} of this text as a JSON object: {text}",
    "Turn this into JSON with {fields}: {text}", "From the text, take {fields} and answer in JSON.\n{text}", "Text: {text}\nJSON with {fields}:", "I need {fields} in JSON format. {text}", "Make a JSON object with {fields} from: {text}",
    "[Please extract|Pull] {fields} out of this text, as JSON: {text}",
    "Please extract {fields} as JSON from this: {text}", "Pull {fields} from this, in JSON: {text}", "Take {fields} out of this text: {text}\nAnswer in JSON."]

WEEKDAY = lambda draw: draw.any(names.DAYS)
# Kinds of text: the fields with how values are made up, and sentences that have all of them.
KINDS = [
    ({"name": names.person, "age": lambda draw: draw.number(3, 99), "city": names.town},
     ["My name is {name}, I am {age} years old and I live in {city}.", "{name} is {age} and comes from {city}.", "In {city} lives {name}, who is {age} years old.", "This is {name} from {city}, {age} years old.",
      "{name}, {age}, lives in {city}.", "I met {name} in {city}. {name} is {age}.", "At the age of {age}, {name} moved to {city}.", "Our friend {name} from {city} turned {age}."]),
    ({"item": names.thing, "quantity": toolbox.small, "price": lambda draw: draw.number(1, 999)},
     ["I want to buy {quantity} of the {item} for {price} euro.", "{quantity} times {item}, {price} euro.", "Please send me {quantity} {item}, the price is {price}.", "We ordered {quantity} {item} and paid {price} euro.",
      "The order: {quantity} {item} at {price} euro.", "For {price} euro I got {quantity} {item}.", "A {item} costs {price} euro; we take {quantity}.", "The {item} is {price} euro and I need {quantity}."]),
    ({"event": names.word, "day": WEEKDAY, "time": toolbox.clock_time},
     ["The {event} is on {day} at {time}.", "On {day} at {time} we have the {event}.", "Come to the {event} on {day}, it starts at {time}.", "The {event} starts at {time} on {day}.", "At {time} on {day}, the {event} begins.",
      "Do not forget the {event}: {day}, {time}.", "We moved the {event} to {day}, {time}.", "{day} is the {event}, at {time}."]),
    ({"name": names.person, "job": lambda draw: draw.any(names.JOBS), "city": names.town},
     ["{name} is a {job} in {city}.", "{name} works as a {job} in {city}.", "The {job} {name} lives in {city}.", "In {city}, {name} found work as a {job}.", "I know a {job} in {city} called {name}.", "Ask {name}, the {job} from {city}.",
      "{name} from {city} became a {job}.", "{city} has a new {job}: {name}."]),
    ({"from": names.town, "to": names.town, "day": WEEKDAY},
     ["I fly from {from} to {to} on {day}.", "On {day} the train goes from {from} to {to}.", "The trip from {from} to {to} is on {day}.", "We leave {from} for {to} on {day}.", "From {from} we drive to {to} on {day}.", "{day}: {from} to {to}.",
      "The bus to {to} leaves {from} on {day}.", "On {day} I travel to {to}, coming from {from}."]),
    ({"product": names.word, "code": names.code, "colour": lambda draw: draw.any(names.COLOURS)},
     ["The {colour} {product} has the code {code}.", "Code {code}: {product}, {colour}.", "I am looking for the {product} in {colour}, number {code}.", "Our {product} ({code}) comes in {colour}.", "{code} is the {colour} {product}.", "Item {code} is a {product} and it is {colour}.",
      "We have the {product} in {colour}, its code is {code}.", "Please send the {colour} {product}, {code}."]),
    ({"sender": names.person, "receiver": names.person, "amount": toolbox.small},
     ["{sender} sent {amount} euro to {receiver}.", "{receiver} got {amount} euro from {sender}.", "{sender} owes {receiver} {amount} euro.", "{amount} euro went from {sender} to {receiver}.", "{sender} gave {receiver} {amount} euro.",
      "{sender} paid {amount} euro to {receiver}.", "There is a payment of {amount} euro by {sender} to {receiver}.", "{sender} lent {receiver} {amount} euro."]),
]


def listed(fields):
    """Names as a sentence has them."""
    return fields[0] if len(fields) == 1 else ", ".join(fields[:-1]) + " and " + fields[-1]


def episode(draw):
    """A text and some of its fields."""
    fields, sentences = draw.any(KINDS)
    values = {name: make(draw) for name, make in fields.items()}
    if len(set(map(str, values.values()))) < len(values):
        return episode(draw)
    wanted = draw.shuffled(list(values))[: draw.any([1, 2, 2, 3, 3, 3])]
    article = "the " if draw.chance(0.5) else ""
    text = draw.say(sentences, **values)
    question = draw.say(ORDERS, fields=article + listed(wanted), text=text)
    found = {name: values[name] for name in wanted}
    return Episode("extraction", [user(question), assistant(json.dumps(found, ensure_ascii=False))], {"json": found})
