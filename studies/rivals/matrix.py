"""What a researcher writes with NumPy: all workers of a ring as rows of one matrix.

Worker i has the quadratic a*(x - o_i)^2/2. A round mixes the rows with their neighbours and subtracts a gradient step.
With 8 bits models travel by a modulo codec with stochastic rounding, whose noise all workers share.
"""
import argparse

import numpy as np


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--workers", type=int, required=True)
    args.add_argument("--dim", type=int, required=True)
    args.add_argument("--rounds", type=int, required=True)
    args.add_argument("--bits", type=int, default=32, choices=(8, 32))
    a = args.parse_args()
    draw = np.random.default_rng(1)
    curve = draw.uniform(0.1, 1, a.dim).astype(np.float32)
    best = draw.uniform(-1, 1, (a.workers, a.dim)).astype(np.float32)
    x = np.tile(draw.uniform(-1, 1, a.dim).astype(np.float32), (a.workers, 1))
    step, third = np.float32(0.05), np.float32(1 / 3)
    theta, levels = np.float32(2), 256
    modulus = np.float32(2 * theta * levels / (levels - 2))
    grid = modulus / levels
    loss = 0.0
    for _ in range(a.rounds):
        away = x - best
        slope = curve * away
        loss = np.einsum("ij,ij->", slope, away) / 2 / a.workers
        if a.bits == 32:
            x = (x + np.roll(x, 1, 0) + np.roll(x, -1, 0)) * third - step * slope
            continue
        noise = draw.random(a.dim, dtype=np.float32)
        symbols = np.floor(x / grid + noise).astype(np.int64).astype(np.uint8)  # what travels
        sent = symbols.astype(np.float32) * grid

        def recover(values):
            return x + np.mod(values - x + modulus / 2, modulus) - modulus / 2

        own = recover(sent)
        mixed = x.copy()
        for turn in (1, -1):
            mixed += third * (recover(np.roll(sent, turn, 0)) - own)
        x = mixed - step * slope
    print(f"loss {loss:.6g}")


if __name__ == "__main__":
    main()
