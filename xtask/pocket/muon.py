"""Muon, in the floats of the weights. PyTorch's own works in bfloat16, which two thirds of a step go into on a processor that emulates it.

The method and its coefficients: Keller Jordan, https://kellerjordan.github.io/posts/muon/
"""

from collections import defaultdict

import torch

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
SMALLEST = 1e-7


def orthogonal(stack):
    """Matrices of one shape whose singular values are brought near one, by Newton and Schulz's iteration."""
    first, second, third = COEFFICIENTS
    tall = stack.shape[1] > stack.shape[2]
    matrix = stack.transpose(1, 2) if tall else stack
    matrix = matrix / matrix.norm(dim=(1, 2), keepdim=True).clamp(min=SMALLEST)
    for _ in range(ITERATIONS):
        gram = matrix @ matrix.transpose(1, 2)
        matrix = first * matrix + (second * gram + third * gram @ gram) @ matrix
    return matrix.transpose(1, 2) if tall else matrix


class Muon(torch.optim.Optimizer):
    """Steps of equal size in every direction of a matrix, with Nesterov's momentum. The states are those of PyTorch's `Muon`."""

    def __init__(self, params, lr, weight_decay, momentum):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        """One step; matrices of one shape are handled together."""
        for group in self.param_groups:
            alike = defaultdict(list)
            for weight in group["params"]:
                alike[weight.shape].append(weight)
            for shape, weights in alike.items():
                updates = orthogonal(torch.stack([self.direction(weight, group["momentum"]) for weight in weights]))
                rate = group["lr"] * max(1, shape[0] / shape[1]) ** 0.5
                for weight, update in zip(weights, updates):
                    weight.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-rate)

    def direction(self, weight, momentum):
        """The gradient, carried on by those before it."""
        state = self.state[weight]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(weight)
        average = state["momentum_buffer"].lerp_(weight.grad, 1 - momentum)
        return weight.grad.lerp(average, momentum)
