"""Fields out of a sentence, as a JSON object."""

import json

from . import names, toolbox
from .dialogue import Episode, assistant, user
from .orders import orders

AS_JSON = "[as JSON|in JSON|as a JSON object|in JSON format]"
TEXT = "[this text|the text|this sentence|this]"
ORDERS = [
    orders("extract|return|find|take|get|write", f"{{fields}} {AS_JSON}", ": {text}"),
    orders("give me|show me|tell me", f"{{fields}} {AS_JSON}", ": {text}"),
    orders("extract|pull|take|get|read", f"{{fields}} [from|out of] {TEXT}[,|] {AS_JSON}", ": {text}"),
    orders("write|return|give me|give", f"{{fields}} of {TEXT} {AS_JSON}", ": {text}"),
    f"[Extract|Give me|Return|Find|I need|I want|Please extract|Please return|Please give me] {{fields}} {AS_JSON}. {{text}}",
    f"[Can|Could] you [extract|give me|return|find] {{fields}} {AS_JSON}? {{text}}",
    f"{{text}}\n[Extract|Return|Give me|Write|Find|I need|Please extract|Please return|Please give me|Now extract] {{fields}} {AS_JSON}.",
    f"{{text}}\n[Can|Could] you [extract|give me|return|write] {{fields}} {AS_JSON}?",
    f"[Turn|Please turn|Make|Please make] {TEXT} into [JSON|a JSON object|an object in JSON] with {{fields}}[: |:\n]{{text}}",
    f"From {TEXT}, [take|extract|pull|read] {{fields}} and [answer|reply|write] in JSON[.|:]\n{{text}}",
    "[Text|The text|Sentence]: {text}\n[JSON with {fields}|{fields} as JSON|JSON object with {fields}|{fields} in JSON]:",
    "[Make|Write|Build|Please make|Please write|Give me|I need] a JSON object with {fields} [from|out of|of][ this| this text|]: {text}",
    f"[Take|Extract|Read|Pull|Please take|Please extract] {{fields}} [from|out of] {TEXT}: {{text}}\n[Answer|Reply|Write it|Answer only] in JSON.",
    "[I need|I want|Extract|Show] {fields} here, as JSON: {text}",
    "[JSON|A JSON object|One JSON object] with {fields}, please: {text}",
]

WEEKDAY = lambda draw: draw.any(names.DAYS)
SKIES = "sunny cloudy rainy clear foggy windy snowy grey stormy dry".split()


def title(draw):
    """A title of a book."""
    found = [names.word(draw).capitalize() for _ in range(draw.number(1, 2))]
    return " ".join(["The", *found] if draw.chance(0.5) else found)


# Kinds of text: the fields with how values are made up, and sentences that have all of them.
KINDS = [
    ({"name": names.person, "age": lambda draw: draw.number(3, 99), "city": names.town},
     ["[My name is {name}|I am {name}|Hello, my name is {name}|Hi, I am {name}], I am {age}[ years old|] and I [live in|come from|am from] {city}.", "{name} is {age}[ years old|] and [comes from|lives in|is from|was born in] {city}.",
      "In {city} [lives|there is|we met|I met] {name}, who is {age}[ years old|].", "This is {name} from {city}, {age} years old.", "[This is |Meet |]{name} from {city}, [{age} years old|aged {age}|who is {age}].",
      "{name}, {age}[ years old|], [lives in|comes from|is from|moved to|works in] {city}.", "I [met|saw|visited] {name} in {city}. {name} is {age}[ years old|].", "At [the age of |]{age}, {name} [moved to|left|came to|went to] {city}.",
      "[Our|My] [friend|neighbour|cousin] {name} from {city} [turned|is|is now|will soon be] {age}."]),
    ({"item": names.thing, "quantity": toolbox.small, "price": lambda draw: draw.number(1, 999)},
     ["I [want|would like|need|have] to buy {quantity} of the {item} for {price} euro.", "{quantity} times {item}, [{price} euro|for {price} euro|at {price} euro|the price is {price}].",
      "[Please send me|Send me|Please bring us|I would like|We need] {quantity} {item}, [the price is {price}|for {price} euro|at {price} euro].", "[We|I] ordered {quantity} {item} and paid {price} euro.",
      "[The|My|Our|A new] order: {quantity} {item} [at|for] {price} euro.", "For {price} euro [I|we|you] [got|get|bought] {quantity} {item}.", "[A|The|One] {item} costs {price} euro[; we take|, and we take|. I want|. Send me] {quantity}.",
      "The {item} is {price} euro and [I need|we need|I want|we take] {quantity}."]),
    ({"event": names.word, "day": WEEKDAY, "time": toolbox.clock_time},
     ["[The|Our|The next] {event} [is|starts|begins|will be] on {day} at {time}.", "On {day} at {time} [we have|there is|I have|you have] [the|our] {event}.", "[Come|Please come|Welcome] to [the|our] {event} on {day}, it [starts|begins] at {time}.",
      "[The|Our] {event} [starts|begins|is] at {time} on {day}.", "At {time} on {day}, [the|our] {event} [begins|starts|takes place].", "[Do not forget|Remember|Do not miss] the {event}: {day}[, | at ]{time}.",
      "[We|They] moved [the|our] {event} to {day}, {time}.", "{day} is the {event}, at {time}.", "{day}, {time}: [the |our |]{event}."]),
    ({"name": names.person, "job": lambda draw: draw.any(names.JOBS), "city": names.town},
     ["{name} is [a|the|our|the new] {job} in {city}.", "{name} [works|worked|wants to work|has a place] as a {job} in {city}.", "[The|Our] {job} {name} [lives in|comes from|works in|moved to] {city}.",
      "In {city}, {name} [found work|works|started] as a {job}.", "I [know|met|saw] a {job} in {city} called {name}.", "[Ask|Call|Talk to|Write to|Look for] {name}, the {job} from {city}.",
      "{name} from {city} [became|is|was|wants to be] a {job}.", "{city} has [a new|a good|only one] {job}: {name}.", "[The|A] {job} [from|in] {city} is [called|named] {name}."]),
    ({"from": names.town, "to": names.town, "day": WEEKDAY},
     ["[I|We|They] [fly|travel|drive|go] from {from} to {to} on {day}.", "On {day} the [train|bus|ship|plane] [goes|leaves|runs] from {from} to {to}.", "[The|Our|My] [trip|flight|journey] from {from} to {to} is on {day}.",
      "[We|I|They] leave {from} for {to} on {day}.", "From {from} [we|I|they] [drive|fly|go] to {to} on {day}.", "{day}: {from} to {to}.", "{day}: [from|a trip from|the train from] {from} to {to}.", "The [bus|train|plane|ship] to {to} leaves {from} on {day}.",
      "On {day} [I|we] [travel|go] to {to}, coming from {from}."]),
    ({"product": names.word, "code": names.code, "colour": lambda draw: draw.any(names.COLOURS)},
     ["[The|Our|A|This] {colour} {product} has the [code|number] {code}.", "[Code|Number|Item] {code}: {product}, {colour}.", "[I am looking for|I want|I need] the {product} in {colour}, [number|code] {code}.",
      "[Our|The|This] {product} ({code}) [comes in|is|is sold in] {colour}.", "{code} is [the|a|our|the code of the] {colour} {product}.", "[Item|Number|Code] {code} is a {product}[ and it is|, and it is|. It is| in] {colour}.",
      "[We have|They sell|Here is] the {product} in {colour}, its code is {code}.", "[Please send|Send me|I order|Please bring] the {colour} {product}, {code}.", "The [code|number] of [the|our|this] {colour} {product} is {code}."]),
    ({"sender": names.person, "receiver": names.person, "amount": toolbox.small},
     ["{sender} [sent|paid|gave|will send|transferred] {amount} euro to {receiver}.", "{receiver} [got|received|gets] {amount} euro from {sender}.", "{sender} [owes|gave|lent|sent|paid] {receiver} {amount} euro.",
      "{amount} euro [went|go|were sent|were paid] from {sender} to {receiver}.", "[There is|We see|I made a note of] a payment of {amount} euro [by|from] {sender} to {receiver}.", "[Yesterday|Today|Last week] {sender} [sent|paid|gave|lent] {receiver} {amount} euro.",
      "[Yesterday|Today|Last week] {receiver} [got|received] {amount} euro from {sender}.", "The [sender|payer] is {sender}, the receiver is {receiver}, and it is {amount} euro.", "From {sender} to {receiver}: {amount} euro.", "[The money|A payment|The payment|A transfer] [goes|went|came] from {sender} to {receiver}: {amount} euro."]),
    ({"town": names.town, "temperature": lambda draw: draw.number(0, 39), "sky": lambda draw: draw.any(SKIES)},
     ["[It is|Today it is|Now it is|It will be] {sky} in {town} [with|at|and] {temperature} degrees.", "[The weather in|Weather for|The forecast for|Today in] {town}: {sky}[, | and | with ]{temperature} degrees.", "{town} is {sky} [today|this morning|tonight|now], [with|at] {temperature} degrees.",
      "In {town} [it is|we have|there are] {temperature} degrees and [it is|the sky is|the day is] {sky}.", "[{temperature} degrees and|At {temperature} degrees, it is] {sky} in {town}.",
      "[Tomorrow|On Sunday|Tonight] {town} [will be|is going to be] {sky} with {temperature} degrees.", "It is {temperature} degrees in {town}[, and the sky is| and|, and it is] {sky}.", "[We are in|Greetings from|I am in] {town}: {temperature} degrees and {sky}."]),
    ({"owner": names.person, "animal": lambda draw: draw.any(names.PETS), "name": names.person},
     ["{owner} [has|owns|bought|keeps|got] a {animal} [called|named|with the name] {name}.", "[The|A] {animal} [called|named] {name} belongs to {owner}.", "{name} is [the|a] {animal} [of|that belongs to|owned by] {owner}.", "The {animal} of {owner} is [called|named] {name}.",
      "{owner} [calls|called|named] [the|a|the new|the little] {animal} {name}.", "[This is|Here is|I found|I saw|We met] {name}, the {animal} of {owner}.", "{owner} [has|owns] a {animal}. [Its name is|It is called|The name is|It is named] {name}.", "[The|My] [neighbour|friend|cousin] {owner} [has|keeps] a {animal}, {name}."]),
    ({"person": names.person, "room": lambda draw: draw.number(1, 499), "time": toolbox.clock_time},
     ["[Meet|Please meet|You meet|We meet|I meet] {person} in room {room} at {time}.", "[The|Your|My|Our] [meeting|talk|appointment] with {person} is at {time} in room {room}.", "{person} [waits|is waiting|will be|sits] in room {room} at {time}.", "At {time} [I|we|you] [meet|see|talk to] {person} in room {room}.",
      "Room {room}, {time}: [meeting|talk|appointment] with {person}.", "[Go|Please go|Come] to room {room} at {time}[, {person} is there| and ask for {person}|. {person} will be there].", "{person} [wants to see|will see|can see] [you|me|us] at {time}, room {room}.", "In room {room}, {person} [starts|begins|gives a talk|has a meeting] at {time}."]),
    ({"title": title, "author": names.person, "year": lambda draw: draw.number(1800, 2025)},
     ["{author} [wrote|published|finished|printed] {title} in {year}.", "{title} [is a book by|was written by|is by|is a novel by] {author}[ from|, from] {year}.", "[The|My favourite|Our] [book|novel] {title} by {author} [is from|came out in|appeared in|was printed in] {year}.",
      "In {year}, {author} [wrote|published|finished] [the book |the novel |]{title}.", "[I am reading|I read|I bought|We have|I like] {title} by {author}, [from|printed in|written in] {year}.", "{title} [came out|appeared|was published] in {year}[, and the author is|. The author is|. It is by] {author}.",
      "The author of {title} is {author}, [the year is|and it is from|and it came out in] {year}.", "{author}: {title}, {year}."]),
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
