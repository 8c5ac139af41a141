"""Philox4x32-10 (Salmon et al. 2011) in numpy, and the draws that training steps take from it."""

from __future__ import annotations

import numpy as np

MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
WORD = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(counter: list[np.ndarray], key: tuple[int, int], rounds: int = 10) -> list[np.ndarray]:
    """The four words of every counter, in uint64."""
    c = [np.asarray(word, np.uint64) for word in counter]
    for number in range(rounds):
        k = [np.uint64((key[i] + number * WEYL[i]) & 0xFFFFFFFF) for i in (0, 1)]
        first, second = c[0] * MULTIPLIERS[0], c[2] * MULTIPLIERS[1]
        c = [
            (second >> HALF) ^ c[1] ^ k[0],
            second & WORD,
            (first >> HALF) ^ c[3] ^ k[1],
            first & WORD,
        ]
    return c


def draws(count: int, seed: int, step: int, stream: int) -> np.ndarray:
    """`count` draws of 16 bits, in the order of passes/Training/RandomNumbers.h."""
    blocks = -(-count // 8)
    index = np.arange(blocks, dtype=np.uint64)
    low = 0xFFFFFFFF
    counter = [index] + [np.full_like(index, n) for n in (stream, step & low, step >> 32)]
    words = philox(counter, (seed & low, seed >> 32))
    halves = [word >> np.uint64(16) for word in words] + [
        word & np.uint64(0xFFFF) for word in words
    ]
    return np.concatenate(halves)[:count].astype(np.int64)
