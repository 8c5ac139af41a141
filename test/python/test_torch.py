"""PyTorch says the same: how float32 is rounded, and what its autocast does with each operator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import autocast_graphs
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import onnx_amp

torch = pytest.importorskip("torch", reason="needs PyTorch, which `tools/dev test --full` installs")
F = torch.nn.functional

pytestmark = pytest.mark.full

TYPES = {
    "fp16": (TensorProto.FLOAT16, torch.float16),
    "bf16": (TensorProto.BFLOAT16, torch.bfloat16),
}


# ---- rounding


def hard_to_round(dtype: str) -> np.ndarray:
    """All values of the low format, the midpoints between them, the neighbours of both in float32, and
    a million float32 values of any kind."""
    patterns = np.arange(1 << 16, dtype=np.uint16)
    if dtype == "fp16":
        low = patterns.view(np.float16).astype(np.float32)
        with np.errstate(all="ignore"):
            midpoints = (low[:-1] + low[1:]) / 2
        overflow = np.array([65520, -65520], np.float32)
        bits = np.concatenate([low, midpoints, overflow]).view(np.uint32)
    else:
        low_bits = patterns.astype(np.uint32) << 16
        bits = np.concatenate([low_bits, low_bits + 0x8000])
    anything = np.random.default_rng(0).integers(0, 1 << 32, 1 << 20, dtype=np.uint32)
    return np.concatenate([bits - 1, bits, bits + 1, anything]).view(np.float32)


@pytest.mark.parametrize("dtype", TYPES)
def test_rounding(dtype: str, tmp_path: Path) -> None:
    """`convert` rounds a weight to the bits of `Tensor.to`; a NaN need only stay one."""
    number, torch_type = TYPES[dtype]
    values = hard_to_round(dtype)
    weight = numpy_helper.from_array(values[:, None], "w")
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, length])
        for name, length in (("x", len(values)), ("y", 1))
    )
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weight]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(model, source)
    onnx_amp().convert(source, target, "--dtype", dtype, "--policy", "torch")
    (converted,) = onnx.load(target).graph.initializer
    assert converted.data_type == number
    ours = np.frombuffer(converted.raw_data, np.uint16)

    rounded = torch.from_numpy(values).to(torch_type)
    theirs = rounded.view(torch.uint16).numpy()
    is_nan = rounded.isnan().numpy()
    assert np.array_equal(
        torch.frombuffer(bytearray(converted.raw_data), dtype=torch_type).isnan().numpy(), is_nan
    )
    wrong = np.flatnonzero((ours != theirs) & ~is_nan)
    assert not wrong.size, (
        f"{wrong.size} differ: {values[wrong[0]]!r} to {ours[wrong[0]]:#06x}, "
        f"expected {theirs[wrong[0]]:#06x}"
    )


# ---- the policy preset `torch`


def image(x: Any) -> Any:
    """The same values as one image of one channel."""
    return x[None, None]


def rows(x: Any) -> Any:
    """An index for each element."""
    return torch.zeros(x.shape, dtype=torch.int64, device=x.device)


#: Operators of ONNX by what PyTorch's user writes for them; x and y are matrices of 4x4. Left out is what has no
#: counterpart or no result in the data's type.
ONE_INPUT: dict[str, Callable[[Any], Any]] = {
    # matrix products
    "Attention": lambda x: F.scaled_dot_product_attention(image(x), image(x), image(x)),
    "Conv": lambda x: F.conv2d(image(x), image(x)),
    "ConvTranspose": lambda x: F.conv_transpose2d(image(x), image(x)),
    "Einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "GRU": lambda x: torch.gru_cell(x, x, torch.cat([x] * 3), torch.cat([x] * 3)),
    "Gemm": lambda x: torch.addmm(x, x, x),
    "LSTM": lambda x: torch.lstm_cell(x, (x, x), torch.cat([x] * 4), torch.cat([x] * 4))[0],
    "MatMul": lambda x: x @ x,
    "PRelu": lambda x: F.prelu(x, x[0]),
    "RNN": lambda x: torch.rnn_tanh_cell(x, x, x, x),
    # functions of one input
    "Abs": torch.abs,
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "Ceil": torch.ceil,
    "Celu": lambda x: F.celu(x),
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Dropout": lambda x: F.dropout(x, training=False),
    "Elu": lambda x: F.elu(x),
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "Gelu": F.gelu,
    "HardSigmoid": lambda x: F.hardsigmoid(x),
    "HardSwish": lambda x: F.hardswish(x),
    "LeakyRelu": lambda x: F.leaky_relu(x),
    "Log": torch.log,
    "Mish": lambda x: F.mish(x),
    "Neg": torch.neg,
    "Pow": lambda x: torch.pow(x, 2),
    "Reciprocal": torch.reciprocal,
    "Relu": lambda x: F.relu(x),
    "Round": torch.round,
    "Selu": lambda x: F.selu(x),
    "Shrink": F.hardshrink,
    "Sigmoid": torch.sigmoid,
    "Sign": torch.sign,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Softplus": F.softplus,
    "Softsign": F.softsign,
    "Sqrt": torch.sqrt,
    "Swish": lambda x: F.silu(x),
    "Tan": torch.tan,
    "Tanh": torch.tanh,
    "ThresholdedRelu": lambda x: F.threshold(x, 1.0, 0.0),
    # sums, statistics, losses
    "AveragePool": lambda x: F.avg_pool2d(image(x), 2),
    "BatchNormalization": lambda x: F.batch_norm(x, x[0].float(), x[0].float()),
    "Col2Im": lambda x: F.fold(x, (2, 2), (2, 2), padding=1, stride=2),
    "CumProd": lambda x: torch.cumprod(x, 0),
    "CumSum": lambda x: torch.cumsum(x, 0),
    "GlobalAveragePool": lambda x: F.adaptive_avg_pool2d(image(x), 1),
    "GlobalLpPool": lambda x: torch.linalg.vector_norm(x, 2, (0, 1), keepdim=True),
    "GroupNormalization": lambda x: F.group_norm(x, 2),
    "InstanceNormalization": lambda x: F.instance_norm(image(x)),
    "LRN": lambda x: F.local_response_norm(image(x), 2),
    "LayerNormalization": lambda x: F.layer_norm(x, (4,)),
    "LogSoftmax": lambda x: F.log_softmax(x, -1),
    "LpNormalization": lambda x: F.normalize(x),
    "LpPool": lambda x: F.lp_pool2d(image(x), 2, 2),
    "NegativeLogLikelihoodLoss": lambda x: F.nll_loss(x, rows(x)[0]),
    "RMSNormalization": lambda x: F.rms_norm(x, (4,)),
    "ReduceL1": lambda x: torch.linalg.vector_norm(x, 1),
    "ReduceL2": lambda x: torch.linalg.vector_norm(x, 2),
    "ReduceLogSum": lambda x: x.sum().log(),
    "ReduceLogSumExp": lambda x: torch.logsumexp(x, 0),
    "ReduceMean": torch.mean,
    "ReduceProd": torch.prod,
    "ReduceSum": torch.sum,
    "ReduceSumSquare": lambda x: (x**2).sum(),
    "Resize": lambda x: F.interpolate(image(x), scale_factor=2.0),
    "Softmax": lambda x: F.softmax(x, -1),
    "SoftmaxCrossEntropyLoss": lambda x: F.cross_entropy(x, rows(x)[0]),
    # moves and selections
    "DepthToSpace": lambda x: F.pixel_shuffle(x[None, :, :, None], 2),
    "Expand": lambda x: image(x).expand(2, 2, 4, 4),
    "Flatten": torch.flatten,
    "Gather": lambda x: torch.index_select(x, 0, rows(x)[0]),
    "GatherElements": lambda x: torch.gather(x, 0, rows(x)),
    "GlobalMaxPool": lambda x: F.adaptive_max_pool2d(image(x), 1),
    "MaxPool": lambda x: F.max_pool2d(image(x), 2),
    "Pad": lambda x: F.pad(x, (1, 1)),
    "ReduceMax": lambda x: torch.amax(x, 0),
    "ReduceMin": lambda x: torch.amin(x, 0),
    "Reshape": lambda x: x.reshape(16),
    "Slice": lambda x: x[1:3],
    "Split": lambda x: torch.split(x, 2)[0],
    "Squeeze": lambda x: x[None].squeeze(0),
    "Tile": lambda x: torch.tile(x, (2, 2)),
    "TopK": lambda x: torch.topk(x, 2)[0],
    "Transpose": torch.t,
    "Trilu": torch.tril,
    "Unsqueeze": lambda x: x.unsqueeze(0),
}
SEVERAL_INPUTS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": torch.add,
    "Clip": lambda x, y: torch.clamp(x, min=y),
    "Concat": lambda x, y: torch.cat([x, y]),
    "Div": torch.div,
    "GridSample": lambda x, y: F.grid_sample(image(x), y.reshape(1, 2, 4, 2), align_corners=False),
    "Max": torch.maximum,
    "Mean": lambda x, y: (x + y) / 2,
    "Min": torch.minimum,
    "Mod": torch.remainder,
    "Mul": torch.mul,
    "ScatterElements": lambda x, y: torch.scatter_add(x, 0, rows(x), y),
    "ScatterND": lambda x, y: torch.index_put(x, (rows(x)[0],), y),
    "Sub": torch.sub,
    "Sum": lambda x, y: x + y,
    "SwiGLU": lambda x, y: F.silu(x) * y,
    "Where": lambda x, y: torch.where(x > 0, x, y),
}


@pytest.fixture(scope="module")
def categories() -> dict[str, str]:
    """What the preset says of each operator."""
    shown = onnx_amp().run("policy", "show", "torch", "--json").expect_success()
    return {
        operator: category
        for category, operators in json.loads(shown.stdout).items()
        if category in ("allow", "clear", "deny", "follow", "promote")
        for operator in operators
        if isinstance(operator, str)  # rules are objects
    }


@pytest.fixture
def tensors() -> Iterator[tuple[Any, Any]]:
    """A float32 and a float16 matrix on a GPU that need not exist, under its autocast to float16.
    `torch.autocast` itself would do nothing without a GPU."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    before = torch.get_autocast_dtype("cuda")
    with FakeTensorMode():
        x = torch.empty(4, 4, device="cuda")
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.float16)
        try:
            yield x, x.half()
        finally:
            torch.set_autocast_enabled("cuda", False)
            torch.set_autocast_dtype("cuda", before)


def category_in_torch(operator: str, single: Any, half: Any) -> str:
    """Told from the types of the results."""
    if operator in SEVERAL_INPUTS:
        function = SEVERAL_INPUTS[operator]
        types = (function(single, half).dtype, function(half, half).dtype)
        return {(torch.float32, torch.float16): "promote"}.get(types, str(types))
    types = (ONE_INPUT[operator](single).dtype, ONE_INPUT[operator](half).dtype)
    return {
        (torch.float16, torch.float16): "allow",
        (torch.float32, torch.float32): "deny",
        (torch.float32, torch.float16): "follow",
    }.get(types, str(types))


@pytest.mark.parametrize("operator", [*ONE_INPUT, *SEVERAL_INPUTS])
def test_category(operator: str, categories: dict[str, str], tensors: tuple[Any, Any]) -> None:
    # To PyTorch, what moves data is like any other operator that it does not list.
    ours = categories[operator].replace("clear", "follow")
    assert ours == category_in_torch(operator, *tensors)


# ---- eager placement


def types_in_torch(nodes: autocast_graphs.Graph, x: Any) -> list[str]:
    """What each node runs in under autocast."""
    special: dict[str, Callable[..., Any]] = {
        "Clip": lambda a: torch.clamp(a, -1, 1),
        "Einsum": lambda a, b: torch.einsum("ij,jk->ik", a, b),
        "Gemm": lambda a, b, c: torch.addmm(c, a, b),
        "MatMul": torch.matmul,
    }
    values = [x]
    for name, inputs in nodes:
        function = special.get(name) or SEVERAL_INPUTS.get(name) or ONE_INPUT[name]
        values.append(function(*(values[number] for number in inputs)))
    return [{torch.float32: "f32", torch.float16: "f16"}[value.dtype] for value in values[1:]]


def test_graphs(tensors: tuple[Any, Any], request: pytest.FixtureRequest) -> None:
    """autocast_graphs.json, which eager placement is held to, is what PyTorch does."""
    found = {
        str(seed): types_in_torch(autocast_graphs.graph(seed), tensors[0])
        for seed in range(autocast_graphs.COUNT)
    }
    if request.config.getoption("--write-golden"):
        autocast_graphs.GOLDEN.write_text(json.dumps(found).replace("], ", "],\n") + "\n")
    assert found == autocast_graphs.golden()
