"""Attention of the CPU runtime beside PyTorch's scaled_dot_product_attention.

    attention.py LIBRARY [--threads N] [--seconds S]

As products.py; AMP_RUNTIME_ISA chooses the instruction set.
"""

from __future__ import annotations

import argparse
import ctypes
import functools

import torch
from results import least_times

TYPES = {
    "float32": (1, torch.float32),
    "float16": (10, torch.float16),
    "bfloat16": (16, torch.bfloat16),
}
# batch, heads, queries, keys, size, whether it is causal
SIZES = [
    (8, 12, 128, 128, 64, 1),
    (1, 12, 128, 128, 64, 0),
    (1, 12, 1024, 1024, 64, 1),
    (1, 12, 1024, 1024, 64, 0),
    (1, 12, 1, 1024, 64, 0),
    (8, 6, 128, 128, 64, 1),
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5)
    arguments = parser.parse_args()
    library = ctypes.CDLL(arguments.library)
    threads = arguments.threads
    torch.set_num_threads(threads)
    library.hasIsa(b"amx")
    for batch, heads, queries, keys, size, causal in SIZES:
        report = []
        for name, (number, dtype) in TYPES.items():
            q = torch.rand(batch, heads, queries, size).to(dtype)
            k, v = (torch.rand(batch, heads, keys, size).to(dtype) for _ in range(2))
            y = torch.empty_like(q)
            sizes = [ctypes.c_int64(x) for x in (batch, heads, queries, keys, size)]
            pointers = [ctypes.c_void_p(x.data_ptr()) for x in (q, k, v, y)]
            ours = functools.partial(library.attend, threads, number, causal, *sizes, *pointers)
            theirs = functools.partial(
                torch.nn.functional.scaled_dot_product_attention, q, k, v, is_causal=bool(causal)
            )
            best = least_times({"ours": ours, "torch": theirs}, arguments.seconds)
            report.append(f"{name} {best['ours'] * 1e6:.0f} / {best['torch'] * 1e6:.0f} us")
        print(
            f"{batch}x{heads}x{queries}x{keys}x{size}{' causal' if causal else ''}: "
            f"ours / torch: {', '.join(report)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
