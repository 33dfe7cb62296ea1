"""Networks of linear layers whose forward and backward passes are a handful of products each.

For small networks most of the time goes into starting operations, not into them: automatic
differentiation of such a network takes about twice the time of the products that are written here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from . import mlp
from .mlp import in_precision
from .network import Network

_aten = torch.ops.aten


class Activation(NamedTuple):
    """`forward` works in place; `backward` takes a slope by the outputs, and the outputs."""

    forward: Callable[[Tensor], Tensor]
    backward: Callable[[Tensor, Tensor], Tensor]
    differentiable: Callable[[Tensor], Tensor]


ACTIVATIONS = {
    "relu": Activation(
        torch.relu_, lambda slope, y: _aten.threshold_backward(slope, y, 0), functional.relu
    ),
    "tanh": Activation(torch.tanh_, _aten.tanh_backward, torch.tanh),
    "elu": Activation(
        functional.elu_,
        lambda slope, y: _aten.elu_backward(slope, 1.0, 1.0, 1.0, True, y),
        functional.elu,
    ),
}


class Layer(NamedTuple):
    """Views of one layer's weights and of where its gradients go, without history."""

    weight: Tensor
    weight_t: Tensor
    bias: Tensor
    by_weight: Tensor
    by_bias: Tensor


class DenseNetwork(Network):
    """Linear layers with an activation after each but the last: `num_copies` of them at once.

    Inputs are [B, in]. Outputs are [B, out], or with several copies [copies, B, out]: weights are
    [copies, out, in] then, so that all copies are computed by one product each layer. First weights
    and biases are uniform within 1 / sqrt(in), torch's own way for linear layers.
    """

    is_exact_with_threads = True

    def __init__(
        self,
        sizes: Sequence[int],
        activation: str = "relu",
        num_copies: int = 1,
        *,
        generator: torch.Generator,
    ) -> None:
        """First weights are drawn from `generator`."""
        super().__init__()
        self.sizes, self.num_copies = tuple(sizes), num_copies
        self.activation = ACTIVATIONS[activation]
        copies = (num_copies,) if num_copies > 1 else ()
        row = (1,) if copies else ()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for inputs, outputs in itertools.pairwise(sizes):
            bound = 1 / math.sqrt(inputs)
            for shape, into in (
                ((*copies, outputs, inputs), self.weights),
                ((*copies, *row, outputs), self.biases),
            ):
                drawn = torch.empty(shape).uniform_(-bound, bound, generator=generator)
                into.append(nn.Parameter(drawn))
        self._affine = mlp.baddbmm if copies else mlp.addmm
        self._product = mlp.bmm if copies else mlp.mm
        self.flatten()

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """Layer by layer, weights and then biases."""
        pairs = zip(self.weights, self.biases, strict=True)
        return list(itertools.chain.from_iterable(pairs))

    def flatten(self) -> None:
        super().flatten()
        self._gradient = torch.empty_like(self.flat_parameters)
        parameters = self.parameters_to_learn()
        parts = torch.split(self._gradient, [parameter.numel() for parameter in parameters])
        views = [part.view_as(whole) for part, whole in zip(parts, parameters, strict=True)]
        self._layers = [
            # Sums over samples have no row of their own.
            Layer(
                w.detach(),
                w.detach().mT,
                b.detach(),
                by_w,
                by_b.squeeze(-2) if w.dim() > 2 else by_b,
            )
            for w, b, by_w, by_b in zip(
                self.weights, self.biases, views[::2], views[1::2], strict=True
            )
        ]

    @in_precision
    def forward(self, x: Tensor) -> Tensor:
        """Differentiable outputs, or where nothing is followed the same without a tape."""
        if not (torch.is_grad_enabled() or torch.compiler.is_exporting()):
            return self.taped(x)[0]
        if self.num_copies > 1:
            x = x.expand(self.num_copies, *x.shape[-2:])
        last = len(self.weights) - 1
        affine = torch.baddbmm if self.num_copies > 1 else torch.addmm
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = affine(bias, x, weight.mT)
            x = x if number == last else self.activation.differentiable(x)
        return x

    @torch.no_grad()
    def taped(self, *inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Outputs, and the inputs of all layers."""
        (x,) = inputs
        if self.num_copies > 1:
            x = x.expand(self.num_copies, *x.shape)
        if self.precision != torch.float32:
            return self._taped_in_precision(x)
        affine, activate = self._affine, self.activation.forward
        *hidden, last = self._layers
        tape = [x]
        for layer in hidden:
            x = activate(affine(layer.bias, x, layer.weight_t))
            tape.append(x)
        return affine(last.bias, x, last.weight_t), tape

    def _taped_in_precision(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        tape = []
        for number, layer in enumerate(self._layers):
            tape.append(x := x.to(self.precision))
            weight, bias = layer.weight_t.to(self.precision), layer.bias.to(self.precision)
            x = self._affine(bias, x, weight)
            if number < len(self._layers) - 1:
                x = self.activation.forward(x)
        return x.float(), tape

    @torch.no_grad()
    def gradient(self, tape: list[Tensor], by_outputs: Tensor) -> Tensor:
        """The derivative of a loss by all weights [P], from that by the outputs on the tape. It is
        memory that the next call fills anew.
        """
        product, deactivate = self._product, self.activation.backward
        slope, is_whole = by_outputs, self.precision == torch.float32
        for number in reversed(range(len(tape))):
            layer, x = self._layers[number], tape[number]
            if is_whole:
                weight = layer.weight
                self._sum_by_weight(slope, x, layer.by_weight)
            else:
                slope, weight = slope.to(x.dtype), layer.weight.to(x.dtype)
                layer.by_weight.copy_(product(slope.mT, x))
            torch.sum(slope, -2, dtype=layer.by_bias.dtype, out=layer.by_bias)
            if number:
                slope = deactivate(product(slope, weight), x)
        return self._gradient

    def _sum_by_weight(self, slope: Tensor, x: Tensor, out: Tensor) -> None:
        """The products' sums over samples, in an order that no number of threads changes."""
        if slope.dim() == 2 and slope.shape[1] == 1:
            torch.sum(slope * x, 0, keepdim=True, out=out)  # a product would share them out
        else:
            self._product(slope.mT, x, out=out)

    @torch.no_grad()
    def input_gradient(self, tape: list[Tensor], by_outputs: Tensor) -> Tensor:
        """The derivative of a loss by the inputs [B, in], summed over copies."""
        product, deactivate = self._product, self.activation.backward
        slope = by_outputs.to(self.precision)
        weights = [layer.weight.to(self.precision) for layer in self._layers]
        for number in reversed(range(1, len(tape))):
            slope = deactivate(product(slope, weights[number]), tape[number])
        slope = product(slope, weights[0]).float()
        return slope.sum(0) if self.num_copies > 1 else slope


class Critics(DenseNetwork):
    """Values Q_i(s, a) [copies, B] of observations [B, obs_size] and actions [B, action_size].

    With several outputs, as quantiles of the return, they are [copies, B, num_outputs].
    """

    def __init__(
        self,
        obs_size: int,
        action_size: int,
        hidden_sizes: Sequence[int],
        activation: str = "relu",
        num_copies: int = 2,
        num_outputs: int = 1,
        *,
        seed: int,
    ) -> None:
        """Weights are drawn from `seed` alone."""
        sizes = (obs_size + action_size, *hidden_sizes, num_outputs)
        generator = torch.Generator().manual_seed(seed)
        super().__init__(sizes, activation, num_copies, generator=generator)
        self.obs_size, self.action_size = obs_size, action_size

    def forward(self, obs: Tensor, actions: Tensor) -> Tensor:  # type: ignore[override]
        outputs = super().forward(torch.cat([obs, actions], -1))
        outputs = outputs if self.num_copies > 1 else outputs.unsqueeze(0)
        return outputs.squeeze(-1) if self.sizes[-1] == 1 else outputs

    @torch.no_grad()
    def taped(self, *inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Outputs for `obs` and `actions`, and the inputs of all layers."""
        outputs, tape = super().taped(torch.cat(inputs, -1))
        outputs = outputs if self.num_copies > 1 else outputs.unsqueeze(0)
        return outputs.squeeze(-1) if self.sizes[-1] == 1 else outputs, tape

    def gradient(self, tape: list[Tensor], by_outputs: Tensor) -> Tensor:
        return super().gradient(tape, self._as_outputs(by_outputs))

    def action_gradient(self, tape: list[Tensor], by_outputs: Tensor) -> Tensor:
        """The derivative of a loss by the actions [B, action_size], from that by the outputs."""
        by_inputs = self.input_gradient(tape, self._as_outputs(by_outputs))
        return by_inputs[:, self.obs_size :]

    def _as_outputs(self, by_outputs: Tensor) -> Tensor:
        """The same in the shape of the last layer's outputs: [copies, B, num_outputs], or without
        the first of a single copy.
        """
        by_outputs = by_outputs.unsqueeze(-1) if self.sizes[-1] == 1 else by_outputs
        return by_outputs if self.num_copies > 1 else by_outputs.squeeze(0)
