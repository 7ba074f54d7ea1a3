"""JAX and optax: the parameters are a tree of arrays, and each exchange returns a new one."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

import gossiptrainer

peer = gossiptrainer.init()
x = np.random.default_rng(1).normal(size=(1024, 8)).astype("float32")
y = np.sin(x).sum(1, keepdims=True)
x, y = peer.part(x), peer.part(y)

first, second = jax.random.split(jax.random.PRNGKey(1))
params = {"hidden": jax.random.normal(first, (8, 32)) / 3, "out": jax.random.normal(second, (32, 1)) / 6}
optimizer = optax.adam(1e-2)
state = optimizer.init(params)


def loss_of(params, x, y):
    return jnp.mean((jax.nn.relu(x @ params["hidden"]) @ params["out"] - y) ** 2)


@jax.jit
def update(params, state, x, y):
    loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
    updates, state = optimizer.update(gradient, state)
    return optax.apply_updates(params, updates), state, loss


peer = gossiptrainer.join(params)
params = peer.params
random = np.random.default_rng([1, peer.rank])  # each worker has an order of its own
for epoch in range(4):
    for batch in random.permutation(len(x)).reshape(-1, 32):
        params, state, loss = update(params, state, x[batch], y[batch])
        params = peer.exchange(params, loss)

mean = peer.average()
total = sum(float(leaf.sum()) for leaf in jax.tree.leaves(mean))
print(f"worker {peer.rank}: {peer.round} steps, loss {loss_of(mean, x, y):.3f}, mean {total:.9f}")
