"""One side of `cart_pole.py`: PPO in JAX, compiled as a whole, environments and updates, by
PureJaxRL's recipe, written anew. Wants jax alone, in whatever Python runs it.

Its settings: separate actor and critic of 64-64 tanh units with orthogonal weights, Adam with
epsilon 1e-5 and a linearly falling rate of 2.5e-4, gamma 0.99, lambda 0.95, 4 epochs of 4
minibatches, advantages normalised over each, clipping of ratios and values at 0.2, entropy 0.01,
value loss 0.5, gradients of both networks together cut at 0.5. Time limits are ends.

Source: Lu et al. 2022, "Discovered Policy Optimisation", arXiv:2210.05639, whose program it is.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from results import EPISODES, print_result

START_S = time.perf_counter()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax, random  # noqa: E402

GAMMA, GAE_LAMBDA, CLIP, RATE = 0.99, 0.95, 0.2, 2.5e-4
NUM_EPOCHS, NUM_MINIBATCHES = 4, 4
MAX_STEPS = 500
Array = Any


def reset(key: Array) -> Array:
    return random.uniform(key, (4,), minval=-0.05, maxval=0.05)


def step(state: Array, elapsed: Array, action: Array, key: Array) -> tuple[Array, ...]:
    """CartPole-v1 by Euler; a new episode where one ended. Returns (state, elapsed, done)."""
    x, v, angle, spin = state
    force = jnp.where(action == 1, 10.0, -10.0)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    push = (force + 0.05 * spin**2 * sine) / 1.1
    twist = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    after = jnp.stack([x + 0.02 * v, v + 0.02 * (push - 0.05 * twist * cosine / 1.1),
                       angle + 0.02 * spin, spin + 0.02 * twist])  # fmt: skip
    elapsed += 1
    fell = (jnp.abs(after[0]) > 2.4) | (jnp.abs(after[2]) > math.radians(12))
    done = fell | (elapsed >= MAX_STEPS)
    return jnp.where(done, reset(key), after), jnp.where(done, 0, elapsed), done


def layers(key: Array, outputs: int, last_gain: float) -> list[tuple[Array, Array]]:
    sizes = ((4, 64, 2**0.5), (64, 64, 2**0.5), (64, outputs, last_gain))
    keys = random.split(key, len(sizes))
    return [
        (jax.nn.initializers.orthogonal(gain)(k, (inputs, units)), jnp.zeros(units))
        for k, (inputs, units, gain) in zip(keys, sizes, strict=True)
    ]


def outputs_of(network: Any, obs: Array) -> Array:
    for weights, bias in network[:-1]:
        obs = jnp.tanh(obs @ weights + bias)
    weights, bias = network[-1]
    return obs @ weights + bias


def log_prob_of(logits: Array, actions: Array) -> Array:
    return jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], -1)[..., 0]


def loss_of(networks: Any, batch: tuple[Array, ...]) -> Array:
    obs, actions, old_log_probs, old_values, advantages, returns = batch
    logits = outputs_of(networks[0], obs)
    values = outputs_of(networks[1], obs)[..., 0]
    ratios = jnp.exp(log_prob_of(logits, actions) - old_log_probs)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    policy = -jnp.minimum(ratios * advantages, ratios.clip(1 - CLIP, 1 + CLIP) * advantages).mean()
    near = old_values + (values - old_values).clip(-CLIP, CLIP)
    value = 0.5 * jnp.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1).mean()
    return policy + 0.5 * value - 0.01 * entropy


def adam_step(learned: Any, gradients: Any, rate: Array) -> Any:
    """`learned` is (networks, first moments, second moments, steps so far)."""
    networks, first, second, count = learned
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda g: g * jnp.minimum(1.0, 0.5 / norm), gradients)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g**2, second, gradients)
    count += 1
    scale = 1 / (1 - 0.9**count), 1 / (1 - 0.999**count)
    networks = jax.tree.map(
        lambda w, m, s: w - rate * m * scale[0] / (jnp.sqrt(s * scale[1]) + 1e-5),
        networks, first, second,
    )  # fmt: skip
    return networks, first, second, count


def make_train(num_envs: int, rollout_steps: int, num_iterations: int) -> Any:
    """The whole training as one function of a key; gives the networks."""
    size = num_envs * rollout_steps

    def act(carry: Any, key: Array) -> tuple[Any, Any]:
        networks, states, elapsed = carry
        act_key, step_key = random.split(key)
        logits, values = outputs_of(networks[0], states), outputs_of(networks[1], states)[..., 0]
        actions = random.categorical(act_key, logits)
        keys = random.split(step_key, num_envs)
        after, elapsed, dones = jax.vmap(step)(states, elapsed, actions, keys)
        row = (states, actions, log_prob_of(logits, actions), values, dones)
        return (networks, after, elapsed), row

    def advantage(carry: Any, row: Any) -> tuple[Any, Array]:
        carried, following = carry
        values, dones = row
        delta = 1.0 + GAMMA * following * (1 - dones) - values  # every step's reward is 1
        carried = delta + GAMMA * GAE_LAMBDA * (1 - dones) * carried
        return (carried, values), carried

    def epoch(carry: Any, key: Array) -> tuple[Any, None]:
        learned, samples, rate = carry
        index = random.permutation(key, size).reshape(NUM_MINIBATCHES, -1)

        def minibatch(learned: Any, index: Array) -> tuple[Any, None]:
            batch = tuple(x[index] for x in samples)
            return adam_step(learned, jax.grad(loss_of)(learned[0], batch), rate), None

        return (lax.scan(minibatch, learned, index)[0], samples, rate), None

    def iteration(carry: Any, number: Array) -> tuple[Any, None]:
        learned, states, elapsed, key = carry
        key, act_key, learn_key = random.split(key, 3)
        (_, states, elapsed), (obs, actions, log_probs, values, dones) = lax.scan(
            act, (learned[0], states, elapsed), random.split(act_key, rollout_steps)
        )
        last = outputs_of(learned[0][1], states)[..., 0]
        _, advantages = lax.scan(
            advantage, (jnp.zeros_like(last), last), (values, dones), reverse=True
        )
        rows = (obs, actions, log_probs, values, advantages, advantages + values)
        samples = tuple(x.reshape(size, *x.shape[2:]) for x in rows)
        rate = RATE * (1 - number / num_iterations)
        (learned, _, _), _ = lax.scan(
            epoch, (learned, samples, rate), random.split(learn_key, NUM_EPOCHS)
        )
        return (learned, states, elapsed, key), None

    def train(key: Array) -> Any:
        key, actor_key, critic_key, reset_key = random.split(key, 4)
        networks = (layers(actor_key, 2, 0.01), layers(critic_key, 1, 1.0))
        zeros = jax.tree.map(jnp.zeros_like, networks)
        states = jax.vmap(reset)(random.split(reset_key, num_envs))
        first = ((networks, zeros, zeros, 0), states, jnp.zeros(num_envs, jnp.int32), key)
        (learned, *_), _ = lax.scan(iteration, first, jnp.arange(num_iterations))
        return learned[0]

    return train


def greedy_return(networks: Any, key: Array) -> float:
    """Mean length, which is the return, of so many episodes, one in each environment."""

    def play(carry: Any, _: None) -> tuple[Any, None]:
        states, elapsed, returns, playing = carry
        actions = outputs_of(networks[0], states).argmax(-1)
        states, elapsed, dones = jax.vmap(step)(states, elapsed, actions, keys)
        return (states, elapsed, returns + playing, playing & ~dones), None

    keys = random.split(key, EPISODES)
    zeros = jnp.zeros(EPISODES, jnp.int32)
    first = (jax.vmap(reset)(keys), zeros, zeros, jnp.ones(EPISODES, bool))
    (_, _, returns, _), _ = lax.scan(play, first, None, MAX_STEPS)
    return float(returns.mean())


def main(seed: int, env_steps: int, num_envs: int, rollout_steps: int) -> None:
    size = num_envs * rollout_steps
    num_iterations = -(-env_steps // size)
    key = random.key(seed)
    train = jax.jit(make_train(num_envs, rollout_steps, num_iterations)).lower(key).compile()
    compiled_s = time.perf_counter()
    networks = jax.block_until_ready(train(key))
    marks = [(compiled_s, 0), (time.perf_counter(), num_iterations * size)]
    mean = greedy_return(networks, random.key(1000 + seed))
    print_result(START_S, marks, NUM_EPOCHS, mean, "jax", "jaxlib")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
