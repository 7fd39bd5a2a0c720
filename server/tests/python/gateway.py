"""Responses through another server that keeps conversations itself and asks this one. Arguments: the address of that server and a key."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import openai
from openai import OpenAI

client = OpenAI(base_url=f"{sys.argv[1]}/v1", api_key=sys.argv[2], max_retries=0, timeout=60)


def ask(text, **fields):
    return client.responses.create(model="tea", input=text, **fields)


with client.responses.stream(model="tea", input="think Hm.\nsay one two three") as stream:
    events = list(stream)
    assert stream.get_final_response().output_text == "one two three", events
assert events[0].type == "response.created" and events[-1].type == "response.completed", events

first = ask("say first")
for word in ["left", "right"]:
    assert ask(f"say {word}", previous_response_id=first.id).output_text == word
with ThreadPoolExecutor(8) as pool:
    answers = pool.map(lambda number: ask(f"say {number}", previous_response_id=first.id), range(24))
    assert [answer.output_text for answer in answers] == [str(number) for number in range(24)]

weather = {"type": "function", "name": "weather", "strict": False, "parameters": {"type": "object", "properties": {}}}
called = ask('call weather {"city":"Oslo"}', tools=[weather])
call = next(item for item in called.output if item.type == "function_call")
assert json.loads(call.arguments) == {"city": "Oslo"}, call
result = {"type": "function_call_output", "call_id": call.call_id, "output": "It is cold."}
assert ask([result], previous_response_id=called.id, tools=[weather]).output_text == "It is cold."

conversation = client.conversations.create()
assert ask("say within", conversation=conversation.id).output_text == "within"

left = ask("say one\nwait 200\nsay two\nwait 20000\nsay three", stream=True)
next(iter(left))
left.close()

try:
    client.responses.create(model="coffee", input="Hi")
except openai.NotFoundError:
    pass
else:
    raise AssertionError("an unknown model was accepted")
assert ask("say still here").output_text == "still here"
print("done")
