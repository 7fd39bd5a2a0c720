"""Trains the tokenizer: byte-level BPE in which a word that may be copied is the same tokens wherever it stands.

Most tokenizers write a word with the space before it, so a name is other tokens behind a space than behind a quotation
mark, and a model must learn each name twice. Here only common words carry their space; every other word, and each
digit, is cut from what stands before it.
"""

import json
import re
from collections import Counter

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from rendering import render
from world import Draw, chat, names, toolbox

SIZE = 2560
COMMON = 420
SAMPLE = 40_000

# A word that comes up less often was made up, and its pieces are not worth a token.
SEEN = 14

# What tools and calls are written with, which becomes one token each: prompts with tools are a third shorter.
FORMAT = [
    '{"type": "function", "function": {"name": "',
    '", "parameters": {"type": "object", "properties": {',
    '": {"type": "',
    '", "description": "',
    '"}}, "required": ["',
    '", "arguments": {',
    '{"name": "',
]

# Control tokens, which text never becomes; then the markers that Qwen3 has as ordinary added tokens.
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>", "<|audio_start|>", "<|audio_end|>", "<|audio_pad|>"]
MARKERS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<tools>", "</tools>"]
END_OF_THOUGHTS = len(SPECIAL) + MARKERS.index("</think>")


def fillers():
    """The words that are put into templates, and so may be copied."""
    tables = [names.PETS, names.FOODS, names.HOBBIES, names.JOBS, names.FRUITS, names.THINGS, names.WORDS, names.COLOURS, names.NOUNS, toolbox.VERBS]
    return {word.lower() for table in tables for word in table}


def common_words(texts):
    """The words of templates and replies that come up most, in the order of how often."""
    counted = Counter(word for text in texts for word in re.findall(r" ([a-z]+|I)\b", text))
    out = fillers()
    return [word for word, _ in counted.most_common(3 * COMMON) if word not in out][:COMMON]


def pattern(common):
    """How text is cut before pairs of bytes are merged."""
    spaced = "|".join(sorted(common, key=lambda word: (-len(word), word)))
    literal = "|".join(re.escape(text).replace("\\ ", " ") for text in FORMAT)
    return rf"{literal}| (?:{spaced})(?![\p{{L}}])|\p{{Lu}}?\p{{Ll}}+|\p{{L}}|\p{{N}}|\n+| ?[^\s\p{{L}}\p{{N}}]+|\s"


def without_rare_words(texts):
    """The texts with words left out that were made up for one of them."""
    counted = Counter(word for text in texts for word in re.findall(r"[A-Za-z]+", text))
    keep = lambda found: found[0] if counted[found[0]] >= SEEN else found[0][0]
    return [re.sub(r"[A-Za-z]+", keep, text) for text in texts]


def trained(texts):
    """A tokenizer trained on texts."""
    tokenizer = Tokenizer(models.BPE())
    cut = pre_tokenizers.Split(Regex(pattern(common_words(texts))), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    added = [AddedToken(text, special=True, normalized=False) for text in SPECIAL]
    added += [AddedToken(text, special=False, normalized=False) for text in MARKERS]
    trainer = trainers.BpeTrainer(vocab_size=SIZE, special_tokens=added, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(without_rare_words(texts), trainer)
    return tokenizer


def sample(count=SAMPLE):
    """Chats to train on."""
    draw = Draw("vocabulary")
    made = (chat(draw) for _ in range(count))
    return [render(one.messages, one.tools, enable_thinking=one.thinking) for one in made]


def config():
    """What `tokenizer_config.json` says."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
        "add_prefix_space": False,
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "unk_token": None,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 2048,
        "split_special_tokens": False,
    }


FILES = ("tokenizer.json", "tokenizer_config.json")


def write(folder):
    """Trains and writes the tokenizer's files."""
    folder.mkdir(parents=True, exist_ok=True)
    trained(sample()).save(str(folder / "tokenizer.json"))
    mark_ordinary(folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text(json.dumps(config(), indent=2) + "\n")


def mark_ordinary(path):
    """The trainer makes every added token special: the markers are not, so that decoding shows them."""
    data = json.loads(path.read_text())
    for token in data["added_tokens"]:
        token["special"] = token["content"] not in MARKERS
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
