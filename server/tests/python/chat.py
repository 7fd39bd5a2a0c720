"""Chat Completions with OpenAI's own client: what it reads must be what the server wrote."""

import sys

import openai
from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
question = [{"role": "user", "content": "Hi"}]

assert [model.id for model in client.models.list()] == ["tea"]

whole = client.chat.completions.create(model="tea", messages=question, store=True, metadata={"a": "b"})
assert whole.choices[0].message.content == "Hello!", whole
assert whole.usage.prompt_tokens_details.cached_tokens == 8, whole

found = client.chat.completions.retrieve(whole.id)
assert found.choices[0].message.content == "Hello!", found
assert [one.id for one in client.chat.completions.list(metadata={"a": "b"})] == [whole.id]
sent = client.chat.completions.messages.list(whole.id)
assert [message.content for message in sent] == ["Hi"], sent
assert client.chat.completions.update(whole.id, metadata={"c": "d"}).metadata == {"c": "d"}
assert client.chat.completions.delete(whole.id).deleted

pieces = []
with client.chat.completions.stream(model="tea", messages=question, stream_options={"include_usage": True}) as stream:
    for event in stream:
        if event.type == "content.delta":
            pieces.append(event.delta)
    final = stream.get_final_completion()
assert "".join(pieces) == "Hello!" == final.choices[0].message.content, pieces
assert final.usage.total_tokens == 15, final

tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
called = client.chat.completions.create(model="tea", messages=question, tools=[tool])
call = called.choices[0].message.tool_calls[0]
assert (call.function.name, call.function.arguments) == ("weather", '{"city":"Oslo"}'), called
messages = question + [called.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "-3"}]
answer = client.chat.completions.create(model="tea", messages=messages, tools=[tool])
assert answer.choices[0].message.content == "Hello!", answer

for wrong, error, param in [
    ({"model": "coffee"}, openai.NotFoundError, "model"),
    ({"n": 2}, openai.BadRequestError, "n"),
    ({"extra_body": {"tea": 1}}, openai.BadRequestError, "tea"),
]:
    try:
        client.chat.completions.create(**{"model": "tea", "messages": question, **wrong})
    except error as refused:
        assert refused.param == param, refused
    else:
        raise AssertionError(f"{wrong} was accepted")

try:
    OpenAI(base_url=sys.argv[1], api_key="no", max_retries=0).models.list()
except openai.AuthenticationError as refused:
    assert refused.code == "invalid_api_key", refused
else:
    raise AssertionError("another key was accepted")
print("done")
