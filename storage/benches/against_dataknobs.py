"""Compares the stores of this crate with dataknobs on the same operations, one after the other on the same machine.

Needs Python 3.12 or newer with `dataknobs-llm` and `aiosqlite`:

    python3.12 -m venv target/venv && target/venv/bin/pip install dataknobs-llm==0.10.0 aiosqlite
    target/venv/bin/python storage/benches/against_dataknobs.py

Prints one Markdown table: what dataknobs takes, what `benches/operations.rs` takes, and how many times longer the first is, with
every change synced to the disk, which is the default, and without. Takes about four minutes.
"""

import asyncio
import gc
import json
import logging
import pathlib
import statistics
import subprocess
import tempfile
import time

from dataknobs_data.factory import AsyncDatabaseFactory
from dataknobs_llm.conversations import (
    ConversationManager,
    ConversationNode,
    ConversationState,
    DataknobsConversationStorage,
)
from dataknobs_llm.llm.base import LLMConfig, LLMMessage
from dataknobs_llm.llm.providers import EchoProvider
from dataknobs_llm.prompts import AsyncPromptBuilder, ConfigPromptLibrary
from dataknobs_structures.tree import Tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = ("The quick brown fox jumps over the lazy dog while the day is long. " * 3)[:200]
# As `benches/operations.rs` has them.
SIZES = (10, 1000, 5000)
BRANCH = 20
TURNS = 400
CONVERSATIONS = 1000
MESSAGES = 10
# Seconds that the growing chat may take with each backend.
BUDGET = 15.0


class Backend:
    """A database of dataknobs in a folder of its own, and what a manager needs besides."""

    def __init__(self, name, folder):
        self.options = {
            "memory": {"backend": "memory"},
            "sqlite": {"backend": "sqlite", "path": f"{folder}/chats.db"},
            "file": {"backend": "file", "path": f"{folder}/chats.json"},
        }[name]
        self.model = EchoProvider(LLMConfig(provider="echo", model="echo"))
        self.prompts = AsyncPromptBuilder(library=ConfigPromptLibrary({}))

    async def open(self):
        """Opens the database."""
        self.database = AsyncDatabaseFactory().create(**self.options)
        if hasattr(self.database, "connect"):
            await self.database.connect()
        self.storage = DataknobsConversationStorage(self.database)
        return self

    async def resume(self, name):
        """Reads a conversation, and is then ready to go on."""
        return await ConversationManager.resume(name, self.model, self.prompts, self.storage)

    async def close(self):
        """Closes the database."""
        await self.database.close()


def state(name, size, shape, metadata=None, text=TEXT):
    """A conversation of `size` messages behind a first one: a chain, or branches of `BRANCH` messages."""
    root = Tree(ConversationNode(message=LLMMessage(role="system", content="Be brief."), node_id=""))
    tip, place = root, ""
    for number in range(size):
        if shape == "bushy" and number % BRANCH == 0:
            tip, place = root, ""
        child = len(tip.children or [])
        place = f"{place}.{child}" if place else str(child)
        node = ConversationNode(message=LLMMessage(role="user", content=text), node_id=place)
        tip = tip.add_child(Tree(node))
    return ConversationState(
        conversation_id=name, message_tree=root, current_node_id=place, metadata=metadata or {}
    )


def written():
    """Bytes that this process has handed to `write`."""
    lines = pathlib.Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


async def median(times, work):
    """The median of a few runs, in milliseconds."""
    taken = []
    for _ in range(times):
        gc.collect()
        start = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken)


async def trees(name):
    """Messages added to trees of every size, and the largest read again."""
    found = {}
    for shape in ("chain", "bushy"):
        for size in SIZES:
            with tempfile.TemporaryDirectory() as folder:
                backend = await Backend(name, folder).open()
                await backend.storage.save_conversation(state("tree", size, shape))
                chat = await backend.resume("tree")
                times = 2 if size == SIZES[-1] else 5
                before = written()
                took = await median(times, lambda: chat.add_message(role="user", content=TEXT))
                found[f"a message, {shape} of {size}"] = took
                if name != "memory":
                    found[f"bytes of a message, {shape} of {size}"] = (written() - before) / times
                if size == SIZES[-1]:
                    found[f"resume, {shape} of {size}"] = await median(3, lambda: backend.resume("tree"))
                await backend.close()
    return found


async def growing(name):
    """A chat turn by turn until the budget is spent: how many turns, how long, how many bytes."""
    with tempfile.TemporaryDirectory() as folder:
        backend = await Backend(name, folder).open()
        chat = await ConversationManager.create(backend.model, backend.prompts, backend.storage)
        start, before, turns = time.perf_counter(), written(), 0
        while turns < TURNS and time.perf_counter() - start < BUDGET:
            await chat.add_message(role="user", content=TEXT)
            await chat.complete()
            turns += 1
        took, wrote = (time.perf_counter() - start) * 1e3, written() - before
        await backend.close()
    return turns, took, wrote


async def questions(name):
    """What is asked of many conversations."""
    with tempfile.TemporaryDirectory() as folder:
        backend = await Backend(name, folder).open()
        states = []
        for number in range(CONVERSATIONS):
            text = TEXT + (" needle" if number % 100 == 0 else "")
            states.append(state(f"chat-{number}", MESSAGES, "chain", {"user": f"user-{number % 50}"}, text))
        # The file backend rewrites its file for each conversation that is saved.
        records = [(one.conversation_id, backend.storage._state_to_record(one)) for one in states]
        if name == "file":
            await backend.database.create_batch([record for _, record in records])
        else:
            for one in states:
                await backend.storage.save_conversation(one)
        storage, mine = backend.storage, {"user": "user-3"}
        found = {
            "search for a word": await median(3, lambda: storage.search_conversations("needle", limit=10)),
            "load one of 1000": await median(3, lambda: storage.load_conversation("chat-500")),
            "list one user's": await median(3, lambda: storage.list_conversations(mine, limit=100)),
        }
        assert len(await storage.search_conversations("needle", limit=10)) == 10
        assert len(await storage.list_conversations(mine, limit=100)) == 20
        await backend.close()
    return found


def ours():
    """What `benches/operations.rs` measured."""
    command = ["cargo", "bench", "--package", "alloquy-storage", "--bench", "operations"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def ratio(theirs, mine):
    """How many times longer, with two digits that count."""
    if not mine:
        return "-"
    return f"{theirs / mine:,.0f} ×" if theirs >= 10 * mine else f"{theirs / mine:.1f} ×"


def row(name, what, theirs, synced, unsynced, unit):
    """One line of the table."""
    digits = 0 if unit == "B" else 3
    cells = [f"{theirs:,.{digits}f} {unit}"]
    for mine in (synced, unsynced):
        cells += [f"{mine:,.{digits}f} {unit}", ratio(theirs, mine)]
    print(f"| {name} | {what} | {' | '.join(cells)} |", flush=True)


async def main():
    """Runs both and prints a table."""
    logging.disable(logging.CRITICAL)
    measured = ours()
    print("| backend | operation | dataknobs | alloquy | ratio | without fsync | ratio |\n|---|---|---|---|---|---|---|")
    for name in ("memory", "sqlite", "file"):
        synced = measured[name]
        unsynced = measured.get(f"{name}, no fsync", synced)
        for what, theirs in ((await trees(name)) | (await questions(name))).items():
            unit = "B" if what.startswith("bytes") else "ms"
            row(name, what, theirs, synced[what], unsynced[what], unit)
        turns, took, wrote = await growing(name)
        here, there = synced["turns"][turns - 1], unsynced["turns"][turns - 1]
        row(name, f"a chat of {turns} turns", took, here[0], there[0], "ms")
        if name != "memory":
            row(name, f"bytes of {turns} turns", wrote, here[1], there[1], "B")


if __name__ == "__main__":
    asyncio.run(main())
