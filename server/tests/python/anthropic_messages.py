"""Messages by Anthropic's own client. Arguments: the address of the server and a key."""

import sys

import anthropic

client = anthropic.Anthropic(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)


def ask(text):
    return {"model": "tea", "max_tokens": 100, "messages": [{"role": "user", "content": text}]}


whole = client.messages.create(**ask("say Hello, world!"), system="Be brief.")
assert [(block.type, block.text) for block in whole.content] == [("text", "Hello, world!")], whole
assert whole.stop_reason == "end_turn" and whole.usage.output_tokens > 0, whole

with client.messages.stream(**ask("say one two three")) as stream:
    assert "".join(stream.text_stream) == "one two three"
    assert stream.get_final_message().content[0].text == "one two three"

weather = {"name": "weather", "description": "The weather.", "input_schema": {"type": "object", "properties": {}}}
called = client.messages.create(**ask('call weather {"city":"Oslo"}'), tools=[weather])
assert called.stop_reason == "tool_use", called
call = next(block for block in called.content if block.type == "tool_use")
assert call.input == {"city": "Oslo"}, call
messages = ask('call weather {"city":"Oslo"}')["messages"]
messages += [{"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in called.content]}]
messages += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "It is cold."}]}]
answered = client.messages.create(model="tea", max_tokens=100, messages=messages, tools=[weather])
assert answered.content[0].text == "It is cold.", answered

assert client.messages.count_tokens(model="tea", messages=ask("Hi")["messages"]).input_tokens > 0

for wrong, error in [
    ({"model": "coffee"}, anthropic.NotFoundError),
    ({"extra_body": {"tea": 1}}, anthropic.BadRequestError),
]:
    try:
        client.messages.create(**{**ask("Hi"), **wrong})
    except error:
        pass
    else:
        raise AssertionError(f"{wrong} was accepted")
print("done")
