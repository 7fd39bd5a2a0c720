"""What training leaves on the disk, written so that a killed process leaves the last one whole."""

import os

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


def averaged(path):
    """The model with averaged weights, as it is exported."""
    state = load(path)
    model = Model(Shape(**state["shape"]))
    model.load_state_dict(state["average"])
    return model.eval()
