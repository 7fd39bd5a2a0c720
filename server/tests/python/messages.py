"""Messages with Anthropic's own client: what it reads must be what the server wrote."""

import sys

import anthropic
from anthropic import Anthropic

client = Anthropic(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
question = [{"role": "user", "content": "Hi"}]

assert [model.id for model in client.models.list()] == ["tea", "counting"]
assert client.models.retrieve("tea").display_name == "tea"

whole = client.messages.create(model="tea", max_tokens=100, messages=question)
assert whole.content[0].text == "Hello!", whole
assert (whole.usage.input_tokens, whole.usage.cache_read_input_tokens, whole.usage.output_tokens) == (4, 8, 3), whole
assert whole.stop_reason == "end_turn" and whole._request_id.startswith("req_"), whole

pieces = []
with client.messages.stream(model="tea", max_tokens=100, messages=question) as stream:
    for text in stream.text_stream:
        pieces.append(text)
    final = stream.get_final_message()
assert "".join(pieces) == "Hello!" == final.content[0].text, pieces
assert (final.usage.input_tokens, final.usage.cache_read_input_tokens, final.usage.output_tokens) == (4, 8, 3), final
assert final.stop_reason == "end_turn", final

thinking = {"type": "enabled", "budget_tokens": 2000}
kinds = []
with client.messages.stream(model="tea", max_tokens=4000, messages=question, thinking=thinking) as stream:
    for event in stream:
        kinds.append(event.type)
    thought = stream.get_final_message()
assert (thought.content[0].thinking, thought.content[1].text) == ("Hm.", "Hello!"), thought
assert thought.content[0].signature, thought
assert {"thinking", "signature", "text", "message_stop"} <= set(kinds), kinds

tools = [{"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]
called = client.messages.create(model="tea", max_tokens=100, messages=question, tools=tools, tool_choice={"type": "any"})
call = called.content[0]
assert (called.stop_reason, call.name, call.input) == ("tool_use", "weather", {"city": "Oslo"}), called
result = {"type": "tool_result", "tool_use_id": call.id, "content": "-3"}
messages = question + [{"role": "assistant", "content": called.content}, {"role": "user", "content": [result]}]
with client.messages.stream(model="tea", max_tokens=100, messages=messages, tools=tools) as stream:
    again = stream.get_final_message()
assert again.content[0].input == {"city": "Oslo"}, again

try:
    client.messages.count_tokens(model="tea", messages=question)
except anthropic.BadRequestError as refused:
    assert "does not report its prompts" in refused.message, refused
counted = client.messages.count_tokens(model="counting", messages=question, system="Be brief.", tools=tools)
assert counted.input_tokens > 10, counted

beta = client.beta.messages.create(
    model="tea",
    max_tokens=100,
    messages=question,
    betas=["context-management-2025-06-27"],
    context_management={"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
)
assert beta.content[0].text == "Hello!", beta

for wrong, error, word in [
    ({"model": "coffee"}, anthropic.NotFoundError, "coffee"),
    ({"extra_body": {"tea": 1}}, anthropic.BadRequestError, "tea"),
    ({"max_tokens": 0}, anthropic.BadRequestError, "max_tokens"),
]:
    try:
        client.messages.create(**{"model": "tea", "max_tokens": 100, "messages": question, **wrong})
    except error as refused:
        assert refused.body["type"] == "error" and word in refused.message, refused
    else:
        raise AssertionError(f"{wrong} was accepted")

try:
    Anthropic(base_url=sys.argv[1], api_key="no", max_retries=0).messages.create(
        model="tea", max_tokens=1, messages=question
    )
except anthropic.AuthenticationError as refused:
    assert refused.body["error"]["type"] == "authentication_error", refused
else:
    raise AssertionError("another key was accepted")
print("done")
