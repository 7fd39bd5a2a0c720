"""Vectors with OpenAI's own client, which asks for base64 unless a format is given."""

import sys

import openai
from openai import OpenAI

client = OpenAI(base_url=f"{sys.argv[1]}/v1", api_key=sys.argv[2], max_retries=0)
packed = client.embeddings.create(model="words", input=["tea", "cups"])
floats = client.embeddings.create(model="words", input=["tea", "cups"], encoding_format="float")
assert [one.index for one in packed.data] == [0, 1], packed
for left, right in zip(packed.data, floats.data):
    assert len(left.embedding) == 16, left
    assert all(abs(a - b) < 1e-6 for a, b in zip(left.embedding, right.embedding)), (left, right)
assert packed.usage.prompt_tokens == 2, packed

for wrong, error in [
    ({"model": "tea"}, openai.NotFoundError),
    ({"input": [[1, 2]]}, openai.BadRequestError),
    ({"dimensions": 2}, openai.BadRequestError),
]:
    try:
        client.embeddings.create(**{"model": "words", "input": "tea", **wrong})
    except error:
        pass
    else:
        raise AssertionError(f"{wrong} was accepted")
print("done")
