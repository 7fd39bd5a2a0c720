"""Ollama's own client: what it reads must be what the server wrote."""

import sys

from ollama import Client, ResponseError

client = Client(host=sys.argv[1], headers={"authorization": f"Bearer {sys.argv[2]}"})
question = [{"role": "user", "content": "Hi"}]

assert [model.model for model in client.list().models] == ["tea", "counting", "words"]
assert client.ps().models is not None
shown = client.show("tea")
assert shown.capabilities == ["completion", "tools"], shown

whole = client.chat(model="tea", messages=question, options={"temperature": 0, "num_predict": 10})
assert whole.message.content == "Hello!", whole
assert (whole.prompt_eval_count, whole.eval_count, whole.done_reason) == (12, 3, "stop"), whole
assert whole.total_duration > 0, whole

parts = list(client.chat(model="tea:latest", messages=question, stream=True))
assert "".join(part.message.content for part in parts) == "Hello!", parts
assert parts[-1].done and parts[-1].eval_count == 3, parts

thought = client.chat(model="tea", messages=question, think=True)
assert (thought.message.thinking, thought.message.content) == ("Hm.", "Hello!"), thought


def weather(city: str) -> str:
    """Returns the weather.

    Args:
        city: The name of a city
    """
    return city


called = client.chat(model="tea", messages=question, tools=[weather])
call = called.message.tool_calls[0]
assert (call.function.name, call.function.arguments) == ("weather", {"city": "Oslo"}), called
messages = question + [called.message, {"role": "tool", "content": "-3", "tool_name": "weather"}]
assert client.chat(model="tea", messages=messages, tools=[weather]).message.content == "Hello!"

generated = client.generate(model="tea", prompt="Hi", system="Be brief.")
assert generated.response == "Hello!", generated
streamed = list(client.generate(model="tea", prompt="Hi", stream=True))
assert "".join(part.response for part in streamed) == "Hello!", streamed

vectors = client.embed(model="words", input=["tea", "cups"])
assert [len(vector) for vector in vectors.embeddings] == [16, 16], vectors

for wrong, status, word in [
    ({"model": "coffee"}, 404, "coffee"),
    ({"options": {"num_gpu": 1}}, 400, "num_gpu"),
]:
    try:
        client.chat(**{"model": "tea", "messages": question, **wrong})
    except ResponseError as refused:
        assert refused.status_code == status and word in refused.error, refused
    else:
        raise AssertionError(f"{wrong} was accepted")

try:
    Client(host=sys.argv[1]).list()
except ResponseError as refused:
    assert refused.status_code == 401, refused
else:
    raise AssertionError("a request without a key was accepted")
print("done")
