"""Responses and Conversations by OpenAI's own client. Arguments: the address of the server and a key."""

import json
import sys
import time

import openai
from openai import OpenAI

client = OpenAI(base_url=f"{sys.argv[1]}/v1", api_key=sys.argv[2], max_retries=0)


def refused(error, expected, **fields):
    try:
        client.responses.create(**{"model": "tea", "input": "Hi", **fields})
    except error as caught:
        found = {name: getattr(caught, name) for name in expected}
        assert found == expected, found
    else:
        raise AssertionError(f"{fields} was accepted")


first = client.responses.create(model="tea", input="think Hm.\nsay Hello, world!")
assert first.output_text == "Hello, world!", first
assert [item.type for item in first.output] == ["reasoning", "message"], first
assert client.responses.retrieve(first.id).output_text == "Hello, world!"
items = list(client.responses.input_items.list(first.id))
assert items[0].content[0].text == "think Hm.\nsay Hello, world!", items

# The helper of the client needs the places of every event.
events = []
with client.responses.stream(model="tea", input='say one two\ncall weather {"city":"Oslo"}') as stream:
    for event in stream:
        events.append(event)
    final = stream.get_final_response()
assert final.output_text == "one two", final
assert events[0].type == "response.created" and events[-1].type == "response.completed", events
assert [event.sequence_number for event in events] == sorted({event.sequence_number for event in events})

left = client.responses.create(model="tea", input="say left", previous_response_id=first.id)
right = client.responses.create(model="tea", input="say right", previous_response_id=first.id)
assert left.id != right.id and left.previous_response_id == right.previous_response_id == first.id

weather = {"type": "function", "name": "weather", "strict": False, "parameters": {"type": "object", "properties": {}}}
called = client.responses.create(model="tea", input='call weather {"city":"Oslo"}', tools=[weather])
call = next(item for item in called.output if item.type == "function_call")
assert json.loads(call.arguments) == {"city": "Oslo"}, call
result = {"type": "function_call_output", "call_id": call.call_id, "output": "It is cold."}
answered = client.responses.create(model="tea", input=[result], previous_response_id=called.id, tools=[weather])
assert answered.output_text == "It is cold.", answered

conversation = client.conversations.create(metadata={"a": "b"})
within = client.responses.create(model="tea", input="say within", conversation=conversation.id)
assert within.conversation.id == conversation.id, within
kept = list(client.conversations.items.list(conversation.id, order="asc"))
assert [item.content[0].text for item in kept] == ["say within", "within"], kept
assert client.conversations.update(conversation.id, metadata={"c": "d"}).metadata == {"c": "d"}
assert client.conversations.delete(conversation.id).deleted

waiting = client.responses.create(model="tea", input="say one\nwait 100\nsay two", background=True)
deadline = time.monotonic() + 20
while waiting.status in ("queued", "in_progress") and time.monotonic() < deadline:
    time.sleep(0.02)
    waiting = client.responses.retrieve(waiting.id)
assert waiting.status == "completed", waiting

client.responses.delete(right.id)
try:
    client.responses.retrieve(right.id)
except openai.NotFoundError:
    pass
else:
    raise AssertionError("a deleted response is still there")
missing = {"code": "previous_response_not_found", "param": "previous_response_id"}
refused(openai.BadRequestError, missing, previous_response_id="resp_none")
refused(openai.BadRequestError, {}, previous_response_id=first.id, conversation="conv_none")
refused(openai.BadRequestError, {"param": "tea"}, extra_body={"tea": 1})
refused(openai.NotFoundError, {"param": "model"}, model="coffee")
print("done")
