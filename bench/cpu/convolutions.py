"""Convolutions of the CPU runtime beside PyTorch and ONNX Runtime.

    convolutions.py LIBRARY [--threads N] [--seconds S] [--isa avx2,avx512] [--types float32]

As products.py; ratios are our time over the other's, forward ("y") beside ONNX
Runtime and PyTorch, gradients ("dx", "dw") beside PyTorch.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
from collections.abc import Callable

import numpy as np
import onnxruntime as ort
import torch
from onnx import TensorProto, helper
from results import least_times

TYPES = {
    "float32": (1, torch.float32),
    "float16": (10, torch.float16),
    "bfloat16": (16, torch.bfloat16),
}
# name, groups, channels in and out, size, kernel, stride, pad
LAYERS = [
    ("first 7x7/2", 1, 3, 64, 224, 7, 2, 3),
    ("3x3 64@56", 1, 64, 64, 56, 3, 1, 1),
    ("3x3/2 64@56", 1, 64, 128, 56, 3, 2, 1),
    ("3x3 128@28", 1, 128, 128, 28, 3, 1, 1),
    ("3x3 256@14", 1, 256, 256, 14, 3, 1, 1),
    ("3x3 512@7", 1, 512, 512, 7, 3, 1, 1),
    ("1x1 64-256@56", 1, 64, 256, 56, 1, 1, 0),
    ("1x1 1024-512@7", 1, 1024, 512, 7, 1, 1, 0),
    ("1x1/2 256@56", 1, 256, 512, 56, 1, 2, 0),
    ("dw 3x3 144@56", 144, 144, 144, 56, 3, 1, 1),
    ("dw 3x3/2 144@56", 144, 144, 144, 56, 3, 2, 1),
    ("dw 3x3 960@7", 960, 960, 960, 7, 3, 1, 1),
    ("3x3 16@32", 1, 16, 16, 32, 3, 1, 1),
]


def make_ort(
    x: np.ndarray,
    w: np.ndarray,
    y_shape: tuple[int, ...],
    groups: int,
    stride: int,
    pad: int,
    threads: int,
) -> Callable[[], object]:
    """Conv by ONNX Runtime between two Relu-free ends, the weight constant."""
    graph = helper.make_graph(
        [
            helper.make_node(
                "Conv", ["x", "w"], ["y"], strides=[stride] * 2, pads=[pad] * 4, group=groups
            )
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y_shape)],
        [helper.make_tensor("w", TensorProto.FLOAT, w.shape, w.tobytes(), raw=True)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options)
    binding = session.io_binding()
    value = ort.OrtValue.ortvalue_from_numpy(x)
    out = ort.OrtValue.ortvalue_from_shape_and_type(y_shape, np.float32)
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("y", out)
    return lambda: session.run_with_iobinding(binding)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--isa", default="avx2,avx512")
    parser.add_argument("--types", default="float32")
    parser.add_argument("--batches", default="1,8")
    arguments = parser.parse_args()
    library = ctypes.CDLL(arguments.library)
    threads = arguments.threads
    torch.set_num_threads(threads)
    isas = [i for i in arguments.isa.split(",") if library.hasIsa(i.encode())]
    gradient = torch.ops.aten.convolution_backward

    for batch in map(int, arguments.batches.split(",")):
        for name, groups, inputs, outputs, size, kernel, stride, pad in LAYERS:
            out = (size + 2 * pad - kernel) // stride + 1
            flops = 2 * batch * outputs * out * out * inputs // groups * kernel * kernel
            sizes = (ctypes.c_int64 * 12)(
                batch, groups, inputs, outputs, size, size, kernel, kernel, out, out, stride, pad
            )
            runs: dict[str, Callable[[], object]] = {}
            keep = []
            for type_name in arguments.types.split(","):
                number, dtype = TYPES[type_name]
                x = (torch.rand(batch, inputs, size, size) - 0.5).to(dtype)
                w = (torch.rand(outputs, inputs // groups, kernel, kernel) - 0.5).to(dtype)
                y = (torch.rand(batch, outputs, out, out) - 0.5).to(dtype)
                results = [t.clone() for t in (x, w, y)]
                keep += [x, w, y, *results]

                def ours(
                    isa: str,
                    kind: int,
                    number: int = number,
                    sizes: object = sizes,
                    tensors: tuple[torch.Tensor, ...] = (x, w, y),
                    results: list[torch.Tensor] = results,
                ) -> None:
                    given = list(tensors)
                    target = (2, 0, 1)[kind]
                    given[target] = results[target]
                    library.convolve(
                        isa.encode(),
                        threads,
                        number,
                        kind,
                        sizes,
                        *(ctypes.c_void_p(t.data_ptr()) for t in given),
                    )

                def theirs(
                    kind: int,
                    tensors: tuple[torch.Tensor, ...] = (x, w, y),
                    stride: int = stride,
                    pad: int = pad,
                    groups: int = groups,
                ) -> None:
                    x, w, y = tensors
                    if kind == 0:
                        torch.nn.functional.conv2d(x, w, None, stride, pad, 1, groups)
                        return
                    mask = [kind == 1, kind == 2, False]
                    gradient(
                        y, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups, mask
                    )

                for kind, label in enumerate(("y", "dx", "dw")):
                    for isa in isas:
                        runs[f"{label} {type_name} {isa}"] = functools.partial(ours, isa, kind)
                    runs[f"{label} {type_name} torch"] = functools.partial(theirs, kind)
                if type_name == "float32":
                    runs["y float32 ort"] = make_ort(
                        x.numpy(), w.numpy(), tuple(y.shape), groups, stride, pad, threads
                    )
            best = least_times(runs, arguments.seconds)
            rates = ", ".join(f"{key} {flops / t / 1e9:.0f}" for key, t in best.items())
            print(f"{name} batch {batch} GFLOP/s: {rates}", flush=True)


if __name__ == "__main__":
    main()
