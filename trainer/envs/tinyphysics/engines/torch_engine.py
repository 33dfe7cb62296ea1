"""The model rebuilt in PyTorch from its weights, last position only."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ..architecture import EPSILON, Architecture, Block, Linear, Norm, architecture
from ..constants import CONTEXT_STEPS, STATE_SIZE, VOCABULARY_SIZE
from ..tokens import sampled_tokens_on_device
from .engine import DEVICE_BATCH, Engine, check_rebuilt
from .processor import ProcessorEngine


class LastPosition(nn.Module):
    """Logits [b, 1024] of the last position, from states [b, 20, 4] and tokens [b, 20]."""

    def __init__(self, found: Architecture) -> None:
        super().__init__()
        self.num_heads = found.num_heads
        self.state_embedding = _linear(found.state_embedding)
        self.token_embedding = nn.Embedding.from_pretrained(torch.tensor(found.token_embedding))
        self.position_embedding = nn.Parameter(torch.tensor(found.position_embedding))
        approximate = "tanh" if found.tanh_gelu else "none"
        self.blocks = nn.ModuleList(
            _Block(block, found.num_heads, approximate) for block in found.blocks
        )
        self.norm = _norm(found.norm)
        self.head = _linear(found.head)
        self.requires_grad_(False)

    def forward(self, states: Tensor, tokens: Tensor) -> Tensor:
        embedded = torch.cat([self.state_embedding(states), self.token_embedding(tokens)], -1)
        x = embedded + self.position_embedding
        for block in self.blocks[:-1]:
            x = block(x, causal=True)
        last = self.blocks[-1](x, causal=False)
        logits: Tensor = self.head(self.norm(last)).squeeze(1)
        return logits


class _Block(nn.Module):
    def __init__(self, found: Block, num_heads: int, approximate: str) -> None:
        super().__init__()
        self.num_heads, self.approximate = num_heads, approximate
        self.norm_1, self.norm_2 = _norm(found.norm_1), _norm(found.norm_2)
        self.qkv, self.projection = _linear(found.qkv), _linear(found.projection)
        self.up, self.down = _linear(found.up), _linear(found.down)

    def forward(self, x: Tensor, causal: bool) -> Tensor:
        """All positions [b, 20, d] where `causal`, otherwise the last alone: [b, 1, d]."""
        normed = self.norm_1(x)
        if causal:
            queries, keys, values = self.qkv(normed).chunk(3, -1)
        else:
            x, width = x[:, -1:], x.shape[-1]
            weight, bias = self.qkv.weight, self.qkv.bias
            q_bias, kv_bias = (None, None) if bias is None else (bias[:width], bias[width:])
            queries = functional.linear(normed[:, -1:], weight[:width], q_bias)
            keys, values = functional.linear(normed, weight[width:], kv_bias).chunk(2, -1)
        queries, keys, values = (
            y.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for y in (queries, keys, values)
        )
        attended = functional.scaled_dot_product_attention(queries, keys, values, is_causal=causal)
        x = x + self.projection(attended.transpose(1, 2).flatten(2))
        hidden = functional.gelu(self.up(self.norm_2(x)), approximate=self.approximate)
        grown: Tensor = x + self.down(hidden)
        return grown


def _linear(found: Linear) -> nn.Linear:
    inputs, outputs = found.weight.shape
    linear = nn.Linear(inputs, outputs, bias=found.bias is not None)
    linear.weight.data = torch.tensor(found.weight.T.copy())
    if found.bias is not None:
        linear.bias.data = torch.tensor(found.bias)
    return linear


def _norm(found: Norm) -> nn.LayerNorm:
    norm = nn.LayerNorm(len(found.scale), EPSILON)
    norm.weight.data, norm.bias.data = torch.tensor(found.scale), torch.tensor(found.shift)
    return norm


def torch_engine(model: Any, device: torch.device, num_threads: int = 0) -> Engine:
    """The model on the processor or on a GPU; on the processor `num_threads` 0 takes all cores.

    Raises ArchitectureError where the model has another architecture than the public one.
    """
    on_processor = device.type == "cpu"
    if on_processor:
        torch.set_num_threads(1)  # chunks run in parallel instead
    rebuilt = LastPosition(architecture(model)).eval()

    @torch.inference_mode()  # which holds for one thread
    def network(states: Tensor, tokens: Tensor) -> NDArray[Any]:
        return rebuilt(states, tokens).numpy()

    check_rebuilt(model, lambda states, tokens: torch.from_numpy(network(states, tokens)))
    if on_processor:
        return ProcessorEngine("torch", network, num_threads)
    return TorchDeviceEngine(rebuilt.to(device), device)


class TorchDeviceEngine:
    """Runs the network on a GPU, as one captured graph for every number of episodes."""

    name = "torch"

    def __init__(self, network: LastPosition, device: torch.device) -> None:
        self._network, self.device = network, device
        self._graphs: dict[int, _CapturedGraph] = {}

    @torch.inference_mode()
    def logits(self, states: Tensor, tokens: Tensor) -> Tensor:
        logits = torch.empty(len(states), VOCABULARY_SIZE, device=self.device)
        for start in range(0, len(states), DEVICE_BATCH):
            part = slice(start, start + DEVICE_BATCH)
            size = len(states[part])
            if size not in self._graphs:
                self._graphs[size] = _CapturedGraph(self._network, size, self.device)
            logits[part] = self._graphs[size](states[part], tokens[part])
        return logits

    def next_tokens(self, states: Tensor, tokens: Tensor, uniforms: Tensor) -> Tensor:
        return sampled_tokens_on_device(self.logits(states, tokens), uniforms)


class _CapturedGraph:
    """The network for one number of episodes, replayed in one launch."""

    def __init__(self, network: LastPosition, size: int, device: torch.device) -> None:
        self._states = torch.zeros(size, CONTEXT_STEPS, STATE_SIZE, device=device)
        self._tokens = torch.zeros(size, CONTEXT_STEPS, dtype=torch.int64, device=device)
        side = torch.cuda.Stream(device)
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):  # what libraries set up on first use cannot be captured
            for _ in range(2):
                network(self._states, self._tokens)
        torch.cuda.current_stream(device).wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._logits = network(self._states, self._tokens)

    def __call__(self, states: Tensor, tokens: Tensor) -> Tensor:
        self._states.copy_(states)
        self._tokens.copy_(tokens)
        self._graph.replay()
        logits: Tensor = self._logits
        return logits
