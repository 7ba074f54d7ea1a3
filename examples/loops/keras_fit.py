"""Keras 3, with the backend that KERAS_BACKEND names: the callback joins, exchanges and finishes."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

from gossiptrainer.keras import GossipCallback

keras.utils.set_random_seed(1)
x = np.random.normal(size=(640, 8)).astype("float32")
y = np.sin(x).sum(1, keepdims=True)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(32), keras.layers.BatchNormalization(),
                          keras.layers.ReLU(), keras.layers.Dropout(0.1), keras.layers.Dense(1)])
model.compile("adam", "mse")
gossip = GossipCallback(model)
x, y = gossip.peer.part(x), gossip.peer.part(y)
model.fit(x, y, batch_size=32, epochs=3, validation_split=0.1, verbose=0, callbacks=[gossip])

with gossip.peer.averaged():
    if gossip.peer.rank == 0:
        model.save("model.keras")
    total = sum(float(keras.ops.sum(weight)) for weight in model.get_weights())
print(f"worker {gossip.peer.rank}: {gossip.peer.round} steps, mean {total:.9f}")
