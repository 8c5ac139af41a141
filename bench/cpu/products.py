"""Matrix products of the CPU runtime beside PyTorch and ONNX Runtime.

    ninja -C build/release amp-bench-products    # LIBRARY is build/release/lib/libamp-bench-products.so
    products.py LIBRARY [--threads N] [--seconds S] [--isa avx2,avx512,amx] [--only M,M]

Each size runs by turns in all libraries, so that whatever else the machine does
meets them all; the least time of each counts.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
import torch
from onnx import TensorProto, helper
from results import least_times

TYPES = {
    "float32": (1, torch.float32),
    "float16": (10, torch.float16),
    "bfloat16": (16, torch.bfloat16),
}
# M, N, K, whether B is transposed, batch
SIZES = (
    [(n, n, n, 0, 1) for n in (64, 128, 256, 512, 1024)]
    + [
        size
        for m in (1, 8, 32, 128, 1024)
        for size in (
            (m, 768, 768, 0, 1),
            (m, 3072, 768, 0, 1),
            (m, 768, 3072, 0, 1),
            (m, 3072, 768, 1, 1),
        )
    ]
    + [
        (1, 50257, 768, 1, 1),
        (128, 128, 64, 1, 96),
        (128, 64, 128, 0, 96),
        (64, 576, 25088, 1, 1),
        (512, 49, 4608, 0, 1),
        (64, 3136, 64, 0, 1),
    ]
)


def make_ort(m: int, n: int, k: int, trans: int, batch: int, threads: int) -> Callable[[], object]:
    """MatMul by ONNX Runtime; a transposed B is a constant, as weights are."""
    a = np.random.rand(batch, m, k).astype(np.float32) - 0.5
    b = np.random.rand(batch, k, n).astype(np.float32) - 0.5
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["c"])],
        "g",
        [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, a.shape),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, b.shape),
        ],
        [helper.make_tensor_value_info("c", TensorProto.FLOAT, (batch, m, n))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options)
    binding = session.io_binding()
    values = [ort.OrtValue.ortvalue_from_numpy(x) for x in (a, b)]
    out = ort.OrtValue.ortvalue_from_shape_and_type((batch, m, n), np.float32)
    binding.bind_ortvalue_input("a", values[0])
    binding.bind_ortvalue_input("b", values[1])
    binding.bind_ortvalue_output("c", out)
    return lambda: session.run_with_iobinding(binding)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--isa", default="avx2,avx512,amx")
    parser.add_argument("--types", default="float32,float16,bfloat16")
    parser.add_argument("--only", default="", help="values of M")
    arguments = parser.parse_args()
    library = ctypes.CDLL(arguments.library)
    threads = arguments.threads
    torch.set_num_threads(threads)
    isas = [i for i in arguments.isa.split(",") if library.hasIsa(i.encode())]
    only = [int(m) for m in arguments.only.split(",") if m]

    for m, n, k, trans, batch in SIZES:
        if only and m not in only:
            continue
        runs: dict[str, Callable[[], object]] = {}
        keep: list[torch.Tensor] = []
        for name in arguments.types.split(","):
            number, dtype = TYPES[name]
            a = (torch.rand(batch, m, k) - 0.5).to(dtype)
            b = (torch.rand(batch, *((n, k) if trans else (k, n))) - 0.5).to(dtype)
            c, d = (torch.empty(batch, m, n, dtype=dtype) for _ in range(2))
            keep += [a, b, c, d]
            right = b.transpose(1, 2) if trans else b

            def run_torch(
                a: torch.Tensor = a, b: torch.Tensor = right, d: torch.Tensor = d
            ) -> None:
                torch.matmul(a, b, out=d)

            fixed = (
                number,
                *(ctypes.c_int64(x) for x in (m, n, k)),
                trans,
                ctypes.c_int64(batch),
                *(ctypes.c_void_p(x.data_ptr()) for x in (a, b, c)),
            )

            def run_ours(isa: str, fixed: tuple[object, ...] = fixed) -> None:
                library.multiply(isa.encode(), threads, *fixed)

            for isa in isas:
                if isa != "amx" or name == "bfloat16":
                    runs[f"{isa} {name}"] = functools.partial(run_ours, isa)
            runs[f"torch {name}"] = run_torch
        if not trans and "float32" in arguments.types:
            runs["ort float32"] = make_ort(m, n, k, trans, batch, threads)
        best = least_times(runs, arguments.seconds)
        rates = ", ".join(f"{name} {2e-9 * m * n * k * batch / t:.0f}" for name, t in best.items())
        print(f"{m}x{n}x{k}{'T' if trans else ''} batch {batch} GFLOP/s: {rates}", flush=True)


if __name__ == "__main__":
    main()
