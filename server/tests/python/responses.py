"""Responses and Conversations with OpenAI's own client: what it reads must be what the server wrote, with every field it requires."""

import sys
import time

import openai
from openai import OpenAI
from openai.types.conversations import Conversation, ConversationItem
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

client = OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
EVENT = TypeAdapter(ResponseStreamEvent)
ITEM = TypeAdapter(ConversationItem)


def strict(model, found):
    """Validates what the client read without checks."""
    return model.model_validate(found.model_dump(warnings=False, exclude_unset=True))


def read(stream):
    """Reads a stream to its end, and checks each event and the numbers of all."""
    events = []
    for event in stream:
        EVENT.validate_python(event.model_dump(warnings=False, exclude_unset=True, by_alias=True))
        events.append(event)
    numbers = [event.sequence_number for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers
    return events


def refused(error, param, code, call):
    try:
        call()
    except error as caught:
        assert (caught.param, caught.code) == (param, code), caught
    else:
        raise AssertionError(f"{param} was accepted")


# Whole, and what is stored of it.
first = client.responses.create(model="echo", input="one", instructions="Be kind.", metadata={"a": "b"})
strict(Response, first)
assert (first.status, first.output_text) == ("completed", "one"), first
found = client.responses.retrieve(first.id)
strict(Response, found)
assert (found.output_text, found.instructions, found.metadata) == ("one", "Be kind.", {"a": "b"}), found
items = list(client.responses.input_items.list(first.id))
assert [item.content[0].text for item in items] == ["one"], items

# Branches: two responses to the same one.
second = client.responses.create(model="echo", input="two", previous_response_id=first.id)
branch = client.responses.create(model="echo", input="three", previous_response_id=first.id)
assert (second.output_text, branch.output_text) == ("two", "three")
assert second.alloquy["conversation"] == branch.alloquy["conversation"] == first.alloquy["conversation"]
refused(
    openai.BadRequestError,
    "previous_response_id",
    "previous_response_not_found",
    lambda: client.responses.create(model="echo", input="x", previous_response_id="resp_x"),
)
refused(
    openai.BadRequestError,
    "previous_response_id",
    "mutually_exclusive_parameters",
    lambda: client.responses.create(
        model="echo", input="x", previous_response_id=first.id, conversation="conv_x"
    ),
)

# Streams.
pieces = []
with client.responses.stream(model="echo", input="good morning", previous_response_id=second.id) as stream:
    for event in stream:
        if event.type == "response.output_text.delta":
            pieces.append(event.delta)
    final = stream.get_final_response()
assert "".join(pieces) == "good morning" == final.output_text, pieces
events = read(client.responses.create(model="echo", input="good evening", stream=True))
kinds = [event.type for event in events]
assert kinds[:2] == ["response.created", "response.in_progress"], kinds
assert kinds[-1] == "response.completed", kinds

# Tools.
tool = {
    "type": "function",
    "name": "weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": False},
    "strict": True,
}
called = client.responses.create(model="caller", input="Oslo?", tools=[tool])
strict(Response, called)
call = called.output[0]
assert (call.type, call.name, call.arguments) == ("function_call", "weather", '{"city":"Oslo"}'), called
output = {"type": "function_call_output", "call_id": call.call_id, "output": "-3"}
answer = client.responses.create(model="caller", input=[output], previous_response_id=called.id, tools=[tool])
assert answer.output_text == "It is cold.", answer
with client.responses.stream(model="caller", input="Oslo?", tools=[tool]) as stream:
    arguments = [event.arguments for event in stream if event.type == "response.function_call_arguments.done"]
    called = stream.get_final_response()
assert arguments == ['{"city":"Oslo"}'], arguments
# A client that keeps the history by itself sends back what it received.
history = [{"role": "user", "content": "Oslo?"}, *called.output, output]
answer = client.responses.create(model="caller", input=history, tools=[tool], store=False)
assert answer.output_text == "It is cold.", answer


# A form of the text.
class City(BaseModel):
    name: str


parsed = client.responses.parse(model="json", input="Which city?", text_format=City)
assert parsed.output_parsed == City(name="Oslo"), parsed
with client.responses.stream(model="json", input="Which city?", text_format=City) as stream:
    final = stream.get_final_response()
assert final.output_parsed == City(name="Oslo"), final

# Thinking.
events = read(client.responses.create(model="thinker", input="Hm?", stream=True))
kinds = [event.type for event in events]
assert "response.reasoning_text.delta" in kinds and "response.reasoning_text.done" in kinds, kinds
thought = events[-1].response
assert [item.type for item in thought.output] == ["reasoning", "message"], thought
again = client.responses.create(
    model="echo", input=[{"role": "user", "content": "Hm?"}, *thought.output, {"role": "user", "content": "So?"}]
)
assert again.output_text == "So?", again

# The background.
queued = client.responses.create(model="slow", input="count", background=True)
strict(Response, queued)
assert queued.status == "queued", queued
while (polled := client.responses.retrieve(queued.id)).status in ("queued", "in_progress"):
    strict(Response, polled)
    time.sleep(0.05)
assert polled.status == "completed" and polled.output_text.startswith("one two"), polled
events = read(client.responses.create(model="slow", input="count", background=True, stream=True))
assert [event.type for event in events][:3] == ["response.created", "response.queued", "response.in_progress"]
response = events[0].response.id
rest = read(client.responses.retrieve(response, stream=True, starting_after=7))
assert [event.sequence_number for event in rest] == [event.sequence_number for event in events[8:]], rest
with client.responses.stream(response_id=response, starting_after=3) as stream:
    assert stream.get_final_response().output_text == events[-1].response.output_text
queued = client.responses.create(model="slow", input="count", background=True)
time.sleep(0.2)
cancelled = client.responses.cancel(queued.id)
strict(Response, cancelled)
assert cancelled.status == "cancelled", cancelled
client.responses.delete(queued.id)
refused(openai.NotFoundError, "response_id", "not_found", lambda: client.responses.retrieve(queued.id))

# Conversations.
conversation = client.conversations.create(
    metadata={"topic": "tea"}, items=[{"type": "message", "role": "user", "content": "I like tea."}]
)
strict(Conversation, conversation)
assert conversation.metadata == {"topic": "tea"}, conversation
assert client.conversations.update(conversation.id, metadata={"topic": "coffee"}).metadata == {"topic": "coffee"}
added = client.responses.create(model="echo", input="And you?", conversation=conversation.id)
assert added.conversation.id == conversation.id, added
items = list(client.conversations.items.list(conversation.id, order="asc", limit=2))
for item in items:
    ITEM.validate_python(item.model_dump(warnings=False, exclude_unset=True))
assert [item.content[0].text for item in items] == ["I like tea.", "And you?", "And you?"], items
assert items[2].id == added.output[0].id, items
one = client.conversations.items.retrieve(items[1].id, conversation_id=conversation.id)
assert one.content[0].text == "And you?", one
more = client.conversations.items.create(conversation.id, items=[{"role": "user", "content": "Bye."}])
assert [item.content[0].text for item in more.data] == ["Bye."], more
client.conversations.items.delete(more.data[0].id, conversation_id=conversation.id)
client.conversations.items.delete(items[0].id, conversation_id=conversation.id)
left = [item.content[0].text for item in client.conversations.items.list(conversation.id, order="asc")]
assert left == ["And you?", "And you?"], left
refused(
    openai.NotFoundError,
    "item_id",
    "not_found",
    lambda: client.conversations.items.retrieve(more.data[0].id, conversation_id=conversation.id),
)
assert client.conversations.delete(conversation.id).deleted
refused(
    openai.NotFoundError, "conversation", "not_found", lambda: client.conversations.retrieve(conversation.id)
)

assert client.responses.input_tokens.count(model="counted", input="Hi").input_tokens > 2
print("done")
