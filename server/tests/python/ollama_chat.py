"""Ollama's API by its own client. Arguments: the address of the server and a key."""

import sys

import ollama

client = ollama.Client(host=sys.argv[1], headers={"Authorization": f"Bearer {sys.argv[2]}"})


def ask(text):
    return {"model": "tea", "messages": [{"role": "user", "content": text}]}


whole = client.chat(**ask("say Hello, world!"))
assert whole.message.content == "Hello, world!" and whole.done, whole

parts = list(client.chat(**ask("say one two three"), stream=True))
assert "".join(part.message.content or "" for part in parts) == "one two three", parts
assert parts[-1].done and parts[-1].eval_count > 0, parts


def weather(city: str) -> str:
    """Returns the weather.

    Args:
      city: The city.
    """
    return city


called = client.chat(**ask('call weather {"city":"Oslo"}'), tools=[weather])
assert called.message.tool_calls[0].function.arguments == {"city": "Oslo"}, called

assert client.generate(model="tea", prompt="say Hello!").response == "Hello!"
assert any(model.model.startswith("tea") for model in client.list().models)
try:
    client.chat(**{**ask("Hi"), "model": "coffee"})
except ollama.ResponseError as error:
    assert error.status_code == 404, error
else:
    raise AssertionError("an unknown model was accepted")
print("done")
