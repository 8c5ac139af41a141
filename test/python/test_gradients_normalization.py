"""Gradients of normalizations, losses and what attention is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from finite_differences import SHAPES, Node, differences, problems
from gradients import differentiate
from onnx import TensorProto, helper
from running import run_in_onnxruntime

RANDOM = np.random.default_rng(13)


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Numbers that float16 holds."""
    return RANDOM.uniform(low, high, shape).astype(np.float16).astype(np.float64)


def normalize(x: np.ndarray, axes: Any, epsilon: float = 1e-5) -> np.ndarray:
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)


def per_channel(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    return values.reshape((1, -1) + (1,) * (x.ndim - 2))


def batch_inference(
    x: np.ndarray, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    mean, variance, scale, bias = (per_channel(v, x) for v in (mean, variance, scale, bias))
    return (x - mean) / np.sqrt(variance + 0.125) * scale + bias


def layer(axis: int, epsilon: float = 1e-5) -> Any:
    def run(x: np.ndarray, scale: np.ndarray, bias: np.ndarray | float = 0.0) -> np.ndarray:
        return normalize(x, tuple(range(axis % x.ndim, x.ndim)), epsilon) * scale + bias

    return run


def rms(axis: int) -> Any:
    def run(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        axes = tuple(range(axis % x.ndim, x.ndim))
        return x / np.sqrt((x**2).mean(axes, keepdims=True) + 1e-5) * scale

    return run


def group(groups: int) -> Any:
    def run(x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
        y = normalize(x.reshape(len(x), groups, -1), -1).reshape(x.shape)
        return y * per_channel(scale, x) + per_channel(bias, x)

    return run


def local_response(size: int) -> Any:
    def run(x: np.ndarray) -> np.ndarray:
        channels = x.shape[1]
        total = np.zeros_like(x)
        for c in range(channels):
            window = slice(max(0, c - (size - 1) // 2), min(channels, c + size // 2 + 1))
            total[:, c] = (x[:, window] ** 2).sum(1)
        return x / (2 + 0.5 / size * total) ** 0.75

    return run


def mean_variance(*axes: int) -> Any:
    return lambda x: normalize(x, axes, 0.0)


LRN = {"alpha": 0.5, "beta": 0.75, "bias": 2.0}
CHANNELS = [floats(3), floats(3), floats(3), floats(3, low=0.5)]
NORMALIZATIONS = [
    Node("BatchNormalization", batch_inference, [floats(2, 3, 2), *CHANNELS], {"epsilon": 0.125}),
    Node("BatchNormalization", batch_inference, [floats(4, 3), *CHANNELS], {"epsilon": 0.125}),
    Node("LayerNormalization", layer(-1), [floats(2, 3, 4), floats(4)]),
    Node(
        "LayerNormalization",
        layer(-2, 0.125),
        [floats(2, 3, 4), floats(3, 4), floats(3, 4)],
        {"axis": -2, "epsilon": 0.125},
    ),
    Node("LayerNormalization", layer(1), [floats(2, 3, 4), floats(4), floats(3, 1)], {"axis": 1}),
    Node("InstanceNormalization", group(3), [floats(2, 3, 4), floats(3), floats(3)]),
    Node("InstanceNormalization", group(2), [floats(2, 2, 2, 3), floats(2), floats(2)]),
    Node("LRN", local_response(3), [floats(2, 4, 2, 2)], {"size": 3, **LRN}),
    Node("LRN", local_response(5), [floats(1, 4, 2, 1)], {"size": 5, **LRN}),
    Node("LpNormalization", lambda x: x / np.sqrt((x**2).sum(-1, keepdims=True)), [floats(2, 3)]),
    Node(
        "LpNormalization",
        lambda x: x / np.abs(x).sum(1, keepdims=True),
        [floats(2, 3, 2)],
        {"axis": 1, "p": 1},
    ),
    Node(
        "MeanVarianceNormalization",
        mean_variance(0, 2, 3),
        [floats(2, 3, 2, 2)],
        {"axes": [0, 2, 3]},
    ),
    Node("MeanVarianceNormalization", mean_variance(1), [floats(2, 4)], {"axes": [1]}),
]
GROUPS = [
    Node(
        "GroupNormalization", group(2), [floats(2, 4, 3), floats(4), floats(4)], {"num_groups": 2}
    ),
    Node("GroupNormalization", group(1), [floats(2, 4), floats(4), floats(4)], {"num_groups": 1}),
]
RMS = [
    Node("RMSNormalization", rms(-1), [floats(2, 3, 4), floats(4)]),
    Node("RMSNormalization", rms(1), [floats(2, 3, 4), floats(3, 4)], {"axis": 1}),
    Node("RMSNormalization", rms(-2), [floats(2, 3, 4), floats(1)], {"axis": -2}),
]


def known_rank(node: Node) -> bool:
    """Whether the rule needs no rank."""
    return node.op != "BatchNormalization" and node.attributes.get("axis", -1) < 0


@pytest.mark.parametrize("shapes", SHAPES)
def test_normalizations(shapes: str, tmp_path: Path) -> None:
    nodes = [n for n in NORMALIZATIONS if shapes != "nothing" or known_rank(n)]
    assert not problems(nodes, tmp_path, shapes=shapes, constants=False)


@pytest.mark.parametrize(("nodes", "opset"), [(GROUPS, 21), (GROUPS, 25), (RMS, 23)])
@pytest.mark.parametrize("shapes", SHAPES)
def test_later_normalizations(nodes: list[Node], opset: int, shapes: str, tmp_path: Path) -> None:
    nodes = [n for n in nodes if shapes != "nothing" or known_rank(n)]
    assert not problems(nodes, tmp_path, shapes=shapes, opset=opset)


def test_float16(tmp_path: Path) -> None:
    """Statistics are of float32: sums of squares of 200 are no float16."""
    nodes = [
        Node("LayerNormalization", layer(-1), [100 * floats(2, 16), floats(16)]),
        Node("InstanceNormalization", group(3), [100 * floats(2, 3, 8), floats(3), floats(3)]),
        Node("BatchNormalization", batch_inference, NORMALIZATIONS[0].inputs, {"epsilon": 0.125}),
    ]
    assert not problems(nodes, tmp_path, dtype=np.float16, tolerance=4e-3)


def batch_training(output: int, momentum: float) -> Any:
    """One of the outputs of BatchNormalization in training mode."""

    def run(
        x: np.ndarray, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, variance: np.ndarray
    ) -> np.ndarray:
        axes = (0, *range(2, x.ndim))
        if output == 0:
            return normalize(x, axes) * per_channel(scale, x) + per_channel(bias, x)
        old, batch = (mean, x.mean(axes)) if output == 1 else (variance, x.var(axes))
        return momentum * old + (1 - momentum) * batch

    return run


@pytest.mark.parametrize("sizes", [[3, 2, 4], ["n", 2, "m"]])
@pytest.mark.parametrize("used", [[0], [1], [2], [0, 1, 2]])
def test_batch_training(used: list[int], sizes: list[Any], tmp_path: Path) -> None:
    """The running statistics have gradients, too."""
    arrays = [floats(3, 2, 4), floats(2), floats(2), floats(2), floats(2, low=0.5)]
    names = ["x", "scale", "bias", "mean", "variance"]
    graph = onnx.GraphProto(name="g")
    for name, array in zip(names, arrays, strict=True):
        shape = sizes if name == "x" else array.shape
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    graph.node.append(
        helper.make_node(
            "BatchNormalization", names, ["y0", "y1", "y2"], training_mode=1, momentum=0.75
        )
    )
    weights = {}
    for i in used:
        shape = (3, 2, 4) if i == 0 else (2,)
        weights[i] = floats(*shape)
        graph.initializer.append(
            onnx.numpy_helper.from_array(weights[i].astype(np.float32), f"w{i}")
        )
        graph.node.append(helper.make_node("Mul", [f"y{i}", f"w{i}"], [f"p{i}"]))
        graph.node.append(helper.make_node("ReduceSum", [f"p{i}"], [f"s{i}"], keepdims=0))
    graph.node.append(helper.make_node("Sum", [f"s{i}" for i in used], ["loss"]))
    graph.output.append(helper.make_tensor_value_info("loss", TensorProto.FLOAT, []))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    wrt = [
        name
        for name, outputs in zip(names, ([0, 1, 2], [0], [0], [1], [2]), strict=True)
        if set(used) & set(outputs)
    ]
    differentiate(model, ["loss"], wrt, tmp_path)
    feeds = {n: a.astype(np.float32) for n, a in zip(names, arrays, strict=True)}
    found = run_in_onnxruntime(tmp_path / "gradient.onnx", feeds)
    for name in wrt:
        expected = sum(
            differences(
                Node("", batch_training(i, 0.75), arrays), names.index(name), weights[i], 1e-5
            )
            for i in used
        )
        np.testing.assert_allclose(found[f"{name}_grad"], expected, rtol=2e-4, atol=2e-5)


def log_softmax(x: np.ndarray) -> np.ndarray:
    x = x - x.max(1, keepdims=True)
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def nll(reduction: str, ignored: int | None = None) -> Any:
    def run(logp: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        valid = labels != ignored
        safe = np.where(valid, labels, 0)
        weight = (np.ones(logp.shape[1]) if weights is None else weights)[safe] * valid
        loss = -np.take_along_axis(logp, safe[:, None], 1)[:, 0] * weight
        if reduction == "none":
            return loss
        return loss.sum() if reduction == "sum" else loss.sum() / weight.sum()

    return run


def cross_entropy(*arguments: Any) -> Any:
    loss = nll(*arguments)
    return lambda scores, *others: loss(log_softmax(scores), *others)


LABELS = np.array([[2, 0, 2], [1, 2, 0]], np.int64)
OUTSIDE = np.array([[2, -7, 2], [1, 2, -7]], np.int32)
LOSSES = [
    Node(
        op,
        function(reduction, ignored),
        [floats(2, 3, 3), OUTSIDE if ignored else LABELS, *weights],
        {"reduction": reduction} | ({"ignore_index": ignored} if ignored else {}),
    )
    for op, function in {
        "SoftmaxCrossEntropyLoss": cross_entropy,
        "NegativeLogLikelihoodLoss": nll,
    }.items()
    for reduction in ("mean", "sum", "none")
    for ignored in (None, -7)
    for weights in ([], [floats(3, low=0.5)])
]


@pytest.mark.parametrize("shapes", SHAPES[:2])
def test_losses(shapes: str, tmp_path: Path) -> None:
    """Weights of classes have gradients; ignored labels are no class."""
    assert not problems(LOSSES, tmp_path, shapes=shapes, constants=False)


def test_float16_losses(tmp_path: Path) -> None:
    nodes = [node for node in LOSSES if not node.attributes.get("ignore_index")]
    assert not problems(nodes, tmp_path, dtype=np.float16, tolerance=4e-3)


@pytest.mark.parametrize("loss", ["y", ""])
def test_log_prob(loss: str, tmp_path: Path) -> None:
    """The second output of the loss: alone, and beside it."""
    text = "y, p = SoftmaxCrossEntropyLoss (x, labels) q = Mul (p, w) s = ReduceSum <keepdims = 0> (q) "
    text += "loss = Add (y, s)" if loss else "loss = Identity (s)"
    graph = onnx.parser.parse_graph(
        f"g (float[n, 3] x, int64[n] labels, float[n, 3] w) => (float loss) {{ {text} }}"
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    differentiate(model, ["loss"], ["x"], tmp_path)
    x, w, labels = floats(4, 3), floats(4, 3), np.array([0, 2, 1, 1])
    feeds = {"x": x.astype(np.float32), "w": w.astype(np.float32), "labels": labels}
    found = run_in_onnxruntime(tmp_path / "gradient.onnx", feeds)["x_grad"]
    expected = differences(Node("", log_softmax, [x]), 0, w)
    if loss:
        expected += differences(Node("", cross_entropy("mean"), [x, labels]), 0, np.ones(()))
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def rotate(interleaved: bool, width: int) -> Any:
    """RotaryEmbedding of [batch, heads, sequence, size]."""

    def run(
        x: np.ndarray, cos: np.ndarray, sin: np.ndarray, ids: np.ndarray | None = None
    ) -> np.ndarray:
        cos, sin = (cache if ids is None else cache[ids] for cache in (cos, sin))
        cos, sin = cos[:, None], sin[:, None]
        first = slice(0, width, 2) if interleaved else slice(0, width // 2)
        second = slice(1, width, 2) if interleaved else slice(width // 2, width)
        y = x.copy()
        y[..., first] = x[..., first] * cos - x[..., second] * sin
        y[..., second] = x[..., first] * sin + x[..., second] * cos
        return y

    return run


def rotate_3d(heads: int) -> Any:
    def run(x: np.ndarray, *caches: np.ndarray) -> np.ndarray:
        batch, length, size = x.shape
        parts = x.reshape(batch, length, heads, size // heads).transpose(0, 2, 1, 3)
        return rotate(False, size // heads)(parts, *caches).transpose(0, 2, 1, 3).reshape(x.shape)

    return run


IDS = np.array([[0, 2, 4], [1, 1, 3]])
ROTATIONS = [
    Node(
        "RotaryEmbedding",
        rotate(False, 4),
        [floats(2, 2, 3, 4), floats(5, 2), floats(5, 2), IDS],
        fixed=(1, 2),
    ),
    Node(
        "RotaryEmbedding",
        rotate(True, 4),
        [floats(2, 2, 3, 6), floats(2, 3, 2), floats(2, 3, 2)],
        {"interleaved": 1, "rotary_embedding_dim": 4},
        fixed=(1, 2),
    ),
    Node(
        "RotaryEmbedding",
        rotate_3d(2),
        [floats(2, 3, 8), floats(2, 3, 2), floats(2, 3, 2)],
        {"num_heads": 2},
        fixed=(1, 2),
    ),
]


@pytest.mark.parametrize("shapes", SHAPES)
def test_rotations(shapes: str, tmp_path: Path) -> None:
    assert not problems(ROTATIONS, tmp_path, shapes=shapes, opset=23)


def attention(causal: bool = False, softcap: float = 0.0, scale: float | None = None) -> Any:
    """Of [batch, heads, sequence, size], each key for several queries."""

    def run(
        q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
    ) -> np.ndarray:
        k, v = (np.repeat(part, q.shape[1] // k.shape[1], 1) for part in (k, v))
        scores = q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
        if causal:
            scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
        if softcap:
            scores = softcap * np.tanh(scores / softcap)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v

    return run


QUERY, KEY, VALUE = floats(2, 4, 3, 4), floats(2, 2, 5, 4), floats(2, 2, 5, 3)
KEPT = np.array([[1, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 0, 1, 1]], bool)
ATTENTION = [
    Node("Attention", attention(), [QUERY, KEY, VALUE, floats(3, 5)]),
    Node("Attention", attention(), [QUERY, KEY, VALUE, floats(2, 1, 3, 5)]),
    Node("Attention", attention(), [QUERY, KEY, VALUE, KEPT]),
    Node(
        "Attention",
        attention(causal=True, scale=0.25),
        [QUERY, KEY, VALUE],
        {"is_causal": 1, "scale": 0.25},
    ),
    Node("Attention", attention(softcap=2.0), [QUERY, KEY, VALUE], {"softcap": 2.0}),
]


@pytest.mark.parametrize(("opset", "shapes"), [(23, "sizes"), (23, "rank"), (24, "sizes")])
def test_attention(opset: int, shapes: str, tmp_path: Path) -> None:
    """As the function that ONNX defines."""
    assert not problems(ATTENTION, tmp_path, opset=opset, shapes=shapes, tolerance=5e-5)


def test_unknown_rank(tmp_path: Path) -> None:
    graph = onnx.parser.parse_graph(
        "g (float x, float[2] c) => (float loss) "
        "{ y = BatchNormalization (x, c, c, c, c) loss = ReduceSum <keepdims = 0> (y) }"
    )
    graph.input[0].type.tensor_type.ClearField("shape")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    message = "has no gradient where the rank of input 0 is not known"
    with pytest.raises(AssertionError, match=message):
        differentiate(model, ["loss"], ["x"], tmp_path)
