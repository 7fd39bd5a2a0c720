"""What training leaves on the disk, written so that a killed process leaves the last one whole."""

import os
from pathlib import Path

import torch

from model import Model, Shape


def save(path, **state):
    """Writes beside the old one, then takes its place."""
    beside = path.with_suffix(".new")
    torch.save(state, beside)
    os.replace(beside, path)


def load(path):
    """The state as it was saved."""
    return torch.load(path, map_location="cpu", weights_only=True)


def averaged(*paths):
    """The model that is exported: the averaged weights of a run, or their mean over several ends of it."""
    states = [load(path) for path in paths]
    averages = [state["average"] for state in states]
    model = Model(Shape(**states[0]["shape"]))
    model.load_state_dict({name: sum(average[name] for average in averages) / len(averages) for name in averages[0]})
    return model.eval()


def offer(parser):
    """Gives a program the options that say which model it is about."""
    parser.add_argument("--folder", type=Path, required=True, help="the run")
    parser.add_argument("--mean", type=Path, action="append", default=[], help="another checkpoint, whose weights are averaged with the run's")


def chosen(given):
    """The model that these options name."""
    return averaged(given.folder / "checkpoint.pt", *given.mean)
