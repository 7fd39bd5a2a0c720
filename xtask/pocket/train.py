"""Trains the pocket model; goes on where it was when it is started again.

The learning rate rises, stays, and falls only when an end is asked for, so a run can be stopped and prolonged at will.
"""

import argparse
import json
import math
import random
import shutil
import signal
import time
from pathlib import Path

import torch
from torch.nn import functional as F

import checkpoint
import imported
import vocabulary
from model import Model, Shape
from muon import Muon
from probe import probe
from shards import Shards, batches

WARMUP = 200
# Of the learning rate, for matrices under Muon and for all else under AdamW.
MATRIX_RATE, OTHER_RATE = 0.01, 0.003
WEIGHT_DECAY = 0.02
# What others say counts a little: it teaches to copy early on. A part of it is enough, and logits are dear.
LISTENING, HEARD = 0.1, 0.25
# The first word of a reply says what kind of reply it is, a call or an answer: one token that decides about the rest.
DECIDING = 4.0
AVERAGE = 0.998
# Floats of 16 bits are faster where the processor multiplies them. Elsewhere they are emulated, and a step takes seven times as long.
HALVES = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where checkpoints, logs and the tokenizer are")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so long")
    parser.add_argument("--steps", type=int, default=None, help="stop after so many steps in all")
    parser.add_argument("--decay", type=int, default=0, help="let the learning rate fall over so many steps from here, then stop")
    parser.add_argument("--rate", type=float, default=1.0, help="a part of the full learning rate, to go on from a model that has come to rest")
    parser.add_argument("--tokens", type=int, default=8192, help="tokens of a step")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", dest="export", type=Path, help="begin with the weights and the tokenizer of this export's folder")
    parser.add_argument("--portion", type=int, default=0, help="the first portion of the corpus of a run that begins")
    parser.add_argument("--checkpoint", type=float, default=4, help="minutes between checkpoints")
    parser.add_argument("--probe", type=float, default=20, help="minutes between measurements")
    return parser.parse_args()


class Optimizers:
    """Muon for the matrices inside, AdamW for embeddings and norms, under one schedule."""

    def __init__(self, model):
        inside = [p for p in model.model.layers.parameters() if p.ndim == 2]
        known = {id(p) for p in inside}
        others = [p for p in model.parameters() if id(p) not in known]
        self.muon = Muon(inside, lr=MATRIX_RATE, weight_decay=WEIGHT_DECAY, momentum=0.95)
        self.adam = torch.optim.AdamW(others, lr=OTHER_RATE, betas=(0.9, 0.98), weight_decay=0.0)
        self.bases = [(self.muon, MATRIX_RATE), (self.adam, OTHER_RATE)]

    def step(self, factor):
        """One step at a part of the full learning rates."""
        for optimizer, base in self.bases:
            for group in optimizer.param_groups:
                group["lr"] = base * factor
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def state_dict(self):
        """Both states."""
        return {"muon": self.muon.state_dict(), "adam": self.adam.state_dict()}

    def load_state_dict(self, state):
        """Both states."""
        self.muon.load_state_dict(state["muon"])
        self.adam.load_state_dict(state["adam"])


def compiled(model):
    """Lets each layer be compiled where there is a compiler: a fifth faster, after a minute."""
    if shutil.which("g++"):
        for layer in model.model.layers:
            layer.compile(dynamic=True)


def deciding(ids):
    """Which targets of a batch begin a reply: those behind the end of the thoughts and its empty line."""
    return F.pad(ids[:, :-2] == vocabulary.END_OF_THOUGHTS, (1, 0))


class Training:
    """A run: the model, its average, and how far it has come."""

    def __init__(self, given):
        self.given, self.path = given, given.folder / "checkpoint.pt"
        self.model = Model(Shape(vocabulary=vocabulary.SIZE))
        self.average = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.optimizers = Optimizers(self.model)
        self.step, self.tokens, self.shard, self.seconds, self.falls_from = 0, 0, given.portion, 0.0, None
        if self.path.exists():
            self.resume(checkpoint.load(self.path))
        elif given.export:
            self.begin_with(imported.Export(given.export / "model.onnx"))
        compiled(self.model)
        self.told_to_stop = False
        signal.signal(signal.SIGTERM, self.stop)
        self.started = self.last_saved = self.last_probed = time.time()

    def begin_with(self, export):
        """Begins with weights that an earlier run came to; its optimizers' states are gone."""
        self.model.load_state_dict(export.state(self.model.shape))
        self.average = {name: value.clone() for name, value in self.model.state_dict().items()}

    def resume(self, state):
        """Goes on with a saved run."""
        self.model.load_state_dict(state["model"])
        self.average = state["average"]
        self.optimizers.load_state_dict(state["optimizers"])
        for name in ("step", "tokens", "shard", "seconds"):
            setattr(self, name, state[name])

    def save(self):
        """Writes the checkpoint."""
        now = time.time()
        seconds = self.seconds + now - self.started
        numbers = {"step": self.step, "tokens": self.tokens, "shard": self.shard, "seconds": seconds}
        self.last_saved = now
        state = {"model": self.model.state_dict(), "average": self.average, "optimizers": self.optimizers.state_dict()}
        try:
            checkpoint.save(self.path, shape=self.model.shape.as_dict(), **state, **numbers)
        except (OSError, RuntimeError) as error:
            # A full disk costs a checkpoint, not the run: the last one is whole.
            print(f"not saved: {error}", flush=True)

    def factor(self):
        """The part of the full learning rate at this step."""
        if self.given.decay:
            return self.given.rate * max(0.0, 1 - (self.step - self.falls_from) / self.given.decay)
        return self.given.rate * min(1.0, (self.step + 1) / WARMUP)

    def learn(self, ids, learnt):
        """One step on one batch; returns the loss on what the assistant says."""
        ids, learnt = torch.from_numpy(ids), torch.from_numpy(learnt)
        targets, spoken = ids[:, 1:].reshape(-1), learnt[:, 1:].reshape(-1)
        heard = spoken | (targets != 0) & (torch.rand(targets.shape) < HEARD)
        with torch.autocast("cpu", torch.bfloat16, enabled=HALVES):
            hidden = self.model.hidden(ids[:, :-1]).flatten(0, 1)[heard]
            logits = self.model.logits(hidden).float()
        losses = F.cross_entropy(logits, targets[heard], reduction="none")
        said = torch.where(deciding(ids).reshape(-1)[heard], DECIDING, 1.0)
        weights = torch.where(spoken[heard], said, LISTENING / HEARD)
        loss = (losses * weights).sum() / weights.sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizers.step(self.factor())
        self.follow()
        self.step += 1
        self.tokens += int((targets != 0).sum())
        return float(losses.detach()[spoken[heard]].mean())

    def follow(self):
        """Moves the averaged weights towards the current ones, faster at the start."""
        keep = min(AVERAGE, (self.step + 1) / (self.step + 10))
        for name, value in self.model.state_dict().items():
            self.average[name].lerp_(value, 1 - keep)

    def stop(self, *_):
        """Ends the run after this step, saved."""
        self.told_to_stop = True

    def over(self):
        """Whether an end that was asked for is reached."""
        minutes = (time.time() - self.started) / 60
        ended = self.given.steps is not None and self.step >= self.given.steps
        fallen = self.given.decay and self.step - self.falls_from >= self.given.decay
        return self.told_to_stop or minutes >= self.given.minutes or ended or fallen

    def log(self, **entry):
        """A line of the log."""
        seconds = round(self.seconds + time.time() - self.started)
        line = json.dumps({"step": self.step, "tokens": self.tokens, "seconds": seconds, **entry})
        with open(self.given.folder / "log.jsonl", "a") as file:
            file.write(line + "\n")
        print(line, flush=True)

    def look(self):
        """Saves and measures when it is time to."""
        if time.time() - self.last_saved > 60 * self.given.checkpoint:
            self.save()
        if time.time() - self.last_probed > 60 * self.given.probe:
            self.measure()

    def measure(self):
        """How much of each skill the averaged weights have, on chats that are held out."""
        twin = Model(self.model.shape)
        twin.load_state_dict(self.average)
        self.log(probe=probe(twin.eval(), self.given.folder / "model" / "tokenizer.json"))
        self.last_probed = time.time()

    def run(self):
        """Trains until an end is reached."""
        self.falls_from = self.step
        print(f"matrices are multiplied in {'bfloat16' if HALVES else 'float32: this processor has no bfloat16'}", flush=True)
        shards = Shards(self.given.folder / "model" / "tokenizer.json", self.shard)
        while not self.over():
            rows, number = shards.take()
            # A portion that was begun is not begun again.
            self.shard = number + 1
            self.over_rows(batches(rows, self.given.tokens, random.Random(number)))
        self.save()
        if not self.told_to_stop:
            self.measure()
        shards.pool.shutdown(cancel_futures=True)

    def over_rows(self, portion):
        """One portion of chats."""
        begun, losses, tokens = time.time(), [], self.tokens
        for ids, learnt in portion:
            losses.append(self.learn(ids, learnt))
            self.look()
            if self.over():
                break
        speed = (self.tokens - tokens) / (time.time() - begun)
        self.log(shard=self.shard, loss=round(sum(losses) / len(losses), 4), tokens_per_second=round(speed), rate=round(self.factor(), 3))


def take_vocabulary(given):
    """Puts the tokenizer and its company into a run's folder."""
    if given.export is None:
        vocabulary.write(given.folder / "model")
        return
    (given.folder / "model").mkdir(parents=True, exist_ok=True)
    for name in vocabulary.FILES:
        shutil.copy(given.export / name, given.folder / "model" / name)


def main():
    """Trains as the command line says."""
    given = options()
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    if not (given.folder / "model" / "tokenizer.json").exists():
        take_vocabulary(given)
    Training(given).run()


if __name__ == "__main__":
    main()
