"""Trees of JAX, variables of Keras, and the compiler of torch 2. The environment of .ci/frameworks has them."""

import os
import unittest
import warnings

os.environ["KERAS_BACKEND"] = "jax"

import jax
import jax.numpy as jnp
import keras
import numpy
import torch
from flax import nnx
from flax.core import FrozenDict

from gossiptrainer import _torch, _tree
from gossiptrainer import keras as ours


@jax.tree_util.register_pytree_node_class
class Node:
    def __init__(self, w, tag):
        self.w, self.tag = w, tag

    def tree_flatten(self):
        return (self.w,), self.tag

    @classmethod
    def tree_unflatten(cls, tag, children):
        return cls(*children, tag)


class Module(nnx.Module):
    def __init__(self, rngs):
        self.a, self.norm, self.drop = nnx.Linear(2, 3, rngs=rngs), nnx.BatchNorm(3, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)


class Compilers(unittest.TestCase):
    def warned(self, ours):
        """Return what torch.compile says while a global hook waits for a forward."""
        model = torch.nn.Linear(2, 1)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            forget = _torch.Module(model, True).at_forward(lambda: None) if ours else \
                torch.nn.modules.module.register_module_forward_pre_hook(lambda *_: None).remove
            torch.compile(model, backend="eager")(torch.ones(1, 2))
            forget()
        return [str(each.message) for each in said if "global hooks" in str(each.message)]

    def test_no_warning_of_a_hook_that_is_ours(self):
        self.assertTrue(self.warned(False))
        self.assertEqual(self.warned(True), [])


class Trees(unittest.TestCase):
    def test_trees_that_jax_knows(self):
        tree = {"node": Node(jnp.ones(2), "tag"), "flax": FrozenDict(a={"b": jnp.ones(1, jnp.bfloat16)}),
                "nnx": nnx.state(Module(nnx.Rngs(1))), "none": None, "call": jax.nn.relu, "step": jnp.zeros((), jnp.int32)}
        values = _tree.Tree(tree)
        self.assertEqual([t["name"] for t in values.tensors],
                         ["flax.a.b", "nnx.a.bias.value", "nnx.a.kernel.value", "nnx.norm.bias.value",
                          "nnx.norm.mean.value", "nnx.norm.scale.value", "nnx.norm.var.value", "node.0"])
        values.attach(bytearray(4 * values.elements))
        values.view += 1
        values.scatter()
        self.assertEqual(jax.tree.structure(values.params), jax.tree.structure(tree))
        numpy.testing.assert_array_equal(values.params["node"].w, [2, 2])
        self.assertEqual((values.params["node"].tag, values.params["flax"]["a"]["b"].dtype), ("tag", jnp.bfloat16))
        self.assertEqual(values.params["nnx"]["a"]["bias"].get_value().tolist(), [1, 1, 1])
        self.assertNotIn("call", values.kept())  # a checkpoint cannot hold it
        values.load(values.dump(values.kept()))


    def test_values_are_kept_though_the_script_gives_its_arrays_away(self):
        values = _tree.Tree({"a": jnp.ones(2), "b": jnp.ones(1, jnp.bfloat16)})
        values.attach(bytearray(4 * values.elements))
        kept = values.clone()
        more = jax.jit(lambda tree: jax.tree.map(lambda x: x + 1, tree), donate_argnums=0)(values.params)
        values.take(more)
        values.put(kept)
        self.assertEqual([leaf.tolist() for leaf in values.params.values()], [[1, 1], [1]])
        self.assertEqual(values.params["b"].dtype, jnp.bfloat16)


class Variables(unittest.TestCase):
    def test_frozen_variables_and_seeds_do_not_travel(self):
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, name="base", trainable=False),
                                  keras.layers.BatchNormalization(), keras.layers.Dropout(0.5), keras.layers.Dense(1)],
                                 name="net")
        model.compile("adam", "mse")
        values = ours._Variables(model)
        names = [t["name"].split("/")[-1] for t in values.tensors]
        self.assertEqual(names, ["beta", "gamma", "bias", "kernel", "moving_mean", "moving_variance"])
        self.assertEqual(values.exact, 6)
        still = values.contents()[len(names):]
        self.assertEqual([(name, shape) for name, shape, _, _ in still], [("net/base/kernel", (2, 3)), ("net/base/bias", (3,))])
        values.receive(len(names), "float32", numpy.full((2, 3), 7, "float32").tobytes())
        self.assertEqual(model.layers[0].get_weights()[0].tolist(), [[7] * 3] * 2)
        state = values.state_dict()
        model.optimizer.build(model.trainable_variables)
        self.assertGreater(len(values.state_dict()), len(state) + 5)

    def test_a_model_without_variables(self):
        with self.assertRaisesRegex(Exception, "give its first layer an Input"):
            ours._Variables(keras.Sequential([keras.layers.Dense(1)]))


if __name__ == "__main__":
    unittest.main()
