"""Tools of the host, approvals and compaction with OpenAI's own client: what it reads must be what the server wrote, with every field it requires."""

import sys

import openai
from openai import OpenAI
from openai.types.conversations import ConversationItem
from openai.types.responses import CompactedResponse, Response, ResponseCompactionItem, ResponseItem, ResponseStreamEvent
from pydantic import TypeAdapter

client = OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
EVENT = TypeAdapter(ResponseStreamEvent)
ITEM = TypeAdapter(ConversationItem)
GIVEN = TypeAdapter(ResponseItem)


def strict(model, found):
    """Validates what the client read without checks."""
    return model.model_validate(found.model_dump(warnings=False, exclude_unset=True))


def read(stream):
    """Reads a stream to its end, checks each event, and returns the last one's response and the names of all."""
    names = []
    for number, event in enumerate(stream):
        EVENT.validate_python(event.model_dump(warnings=False, exclude_unset=True, by_alias=True))
        assert event.sequence_number == number, event
        names.append(event.type)
    return event.response, names


def kinds(response):
    return [item.type for item in response.output]


free = {"type": "mcp", "server_label": "sums", "require_approval": "never"}
asking = {"type": "mcp", "server_label": "sums", "require_approval": {"always": {"tool_names": ["add"]}}}

# A tool that runs at once.
made = client.responses.create(model="tea", input="What is 2 + 3?", tools=[free])
strict(Response, made)
assert kinds(made) == ["mcp_list_tools", "mcp_call", "message"], made
assert (made.output[1].output, made.output[1].error, made.output_text) == ("5", None, "Five."), made
made, names = read(client.responses.create(model="tea", input="What is 2 + 3?", tools=[free], stream=True))
strict(Response, made)
assert made.output[1].error.type == "mcp_tool_execution_error", made
for name in ["mcp_list_tools.completed", "mcp_call_arguments.done", "mcp_call.in_progress", "mcp_call.failed"]:
    assert f"response.{name}" in names, names

# An approval, with the call in a stream, and once.
asked = client.responses.create(model="tea", input="What is 2 + 3?", tools=[asking])
strict(Response, asked)
assert kinds(asked) == ["mcp_list_tools", "mcp_approval_request"], asked
decision = {"type": "mcp_approval_response", "approval_request_id": asked.output[1].id, "approve": True}
following = {"model": "tea", "tools": [asking], "input": [decision], "previous_response_id": asked.id}
with client.responses.stream(**following) as stream:
    seen = [event.type for event in stream]
    made = stream.get_final_response()
assert "response.mcp_call.completed" in seen, seen
assert kinds(made) == ["mcp_call", "message"] and made.output[0].output == "5", made
assert made.output[0].approval_request_id == asked.output[1].id, made
strict(Response, client.responses.retrieve(made.id))
given = list(client.responses.input_items.list(made.id))
for item in given:
    GIVEN.validate_python(item.model_dump(warnings=False, exclude_unset=True))
assert [item.type for item in given] == ["mcp_approval_response"], given
try:
    client.responses.create(**following)
except openai.BadRequestError as error:
    assert error.code == "approval_already_answered", error
else:
    raise AssertionError("an approval was given twice")
conversation = f"conv_{made.alloquy['conversation']}"
for item in client.conversations.items.list(conversation):
    ITEM.validate_python(item.model_dump(warnings=False, exclude_unset=True))

# A refusal.
asked = client.responses.create(model="tea", input="What is 2 + 3?", tools=[asking])
decision = {"type": "mcp_approval_response", "approval_request_id": asked.output[-1].id, "approve": False, "reason": "no"}
made = client.responses.create(model="tea", tools=[asking], input=[decision], previous_response_id=asked.id)
strict(Response, made)
assert kinds(made) == ["message"], made

# Compaction: the user's messages and a summary, which the next request continues.
compacted = client.responses.compact(model="tea", previous_response_id=made.id, instructions="Be brief.")
# The client's type of the output has no messages of the user, which the documented answer has.
summary = ResponseCompactionItem.model_validate(compacted.output[-1].model_dump(warnings=False, exclude_unset=True))
CompactedResponse.model_validate({**compacted.model_dump(warnings=False, exclude_unset=True), "output": [summary.model_dump()]})
assert compacted.output[0].role == "user" and compacted.output[0].content[0].text == "What is 2 + 3?", compacted
assert [item.type for item in compacted.output] == ["message", "compaction"], compacted
window = [item.model_dump(exclude_unset=True) for item in compacted.output]
made = client.responses.create(model="tea", input=[*window, {"role": "user", "content": "And now?"}], store=False)
strict(Response, made)
print("done")
