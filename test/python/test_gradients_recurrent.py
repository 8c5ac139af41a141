"""Gradients of LSTM, GRU and RNN, against finite differences of their equations in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from gradients import differentiate
from onnx import TensorProto, helper
from running import run_in_onnxruntime
from test_gradients_control_flow import normal

STEPS, BATCH, INPUT, HIDDEN = 4, 3, 2, 3
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def layer(
    op: str,
    outputs: str = "Y Y_h Y_c",
    inputs: str = "X W R B initial_h initial_c",
    lengths: list[int] | None = None,
    dtype: type = np.float64,
    opset: int = 21,
    **attributes: Any,
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A layer whose outputs go into the loss, each times some numbers."""
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    gates = GATES[op]
    shapes = {
        "X": (STEPS, BATCH, INPUT),
        "W": (directions, gates * HIDDEN, INPUT),
        "R": (directions, gates * HIDDEN, HIDDEN),
        "B": (directions, 2 * gates * HIDDEN),
        "initial_h": (directions, BATCH, HIDDEN),
        "initial_c": (directions, BATCH, HIDDEN),
        "P": (directions, 3 * HIDDEN),
    }
    order = ["X", "W", "R", "B", "sequence_lens", "initial_h"]
    order += ["initial_c", "P"] if op == "LSTM" else []
    given = set(inputs.split()) | ({"sequence_lens"} if lengths else set())
    feeds = {
        name: normal(*shapes[name], seed=seed).astype(dtype)
        for seed, name in enumerate(order)
        if name in given and name in shapes
    }
    names = [name if name in given else "" for name in order]
    made = ["Y", "Y_h"] + (["Y_c"] if op == "LSTM" else [])
    made = [name if name in outputs.split() else "" for name in made]
    while made[-1] == "":
        made.pop()
    nodes = [helper.make_node(op, names, made, name="layer", hidden_size=HIDDEN, **attributes)]
    initializers = []
    if lengths:
        initializers.append(
            helper.make_tensor("sequence_lens", TensorProto.INT32, [BATCH], lengths)
        )
    sizes = {"Y": (STEPS, directions, BATCH, HIDDEN)}
    parts = []
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for seed, name in enumerate(name for name in made if name):
        size = sizes.get(name, (directions, BATCH, HIDDEN))
        numbers = normal(*size, seed=40 + seed).astype(dtype)
        initializers.append(onnx.numpy_helper.from_array(numbers, f"times_{name}"))
        nodes.append(helper.make_node("Mul", [name, f"times_{name}"], [f"part_{name}"]))
        nodes.append(helper.make_node("ReduceSum", [f"part_{name}"], [f"sum_{name}"], keepdims=0))
        parts.append(f"sum_{name}")
    while len(parts) > 1:
        nodes.append(helper.make_node("Add", parts[-2:], [f"{parts[-1]}_and"]))
        parts[-2:] = [f"{parts[-1]}_and"]
    nodes.append(helper.make_node("Identity", parts, ["loss"]))
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info(name, kind, value.shape) for name, value in feeds.items()],
        [helper.make_tensor_value_info("loss", kind, [])],
        initializers,
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


CASES: dict[str, dict[str, Any]] = {
    "lstm": {"op": "LSTM"},
    "lstm_bidirectional": {"op": "LSTM", "direction": "bidirectional"},
    "lstm_peepholes": {"op": "LSTM", "inputs": "X W R B initial_h initial_c P"},
    "lstm_peepholes_lengths": {
        "op": "LSTM",
        "inputs": "X W R B initial_c P",
        "lengths": [4, 2, 1],
        "direction": "bidirectional",
    },
    "lstm_lengths": {"op": "LSTM", "lengths": [1, 4, 3], "direction": "bidirectional"},
    "lstm_coupled": {"op": "LSTM", "input_forget": 1},
    "lstm_last_state": {"op": "LSTM", "outputs": "Y_h", "inputs": "X W R"},
    "lstm_cell": {"op": "LSTM", "outputs": "Y_c", "direction": "reverse"},
    "gru": {"op": "GRU"},
    "gru_linear": {"op": "GRU", "linear_before_reset": 1},
    "gru_linear_lengths": {
        "op": "GRU",
        "linear_before_reset": 1,
        "lengths": [2, 4, 3],
        "direction": "bidirectional",
    },
    "gru_lengths": {"op": "GRU", "lengths": [2, 4, 3], "direction": "bidirectional"},
    "gru_reverse": {"op": "GRU", "inputs": "X W R", "direction": "reverse", "outputs": "Y_h"},
    "rnn": {"op": "RNN"},
    "rnn_lengths": {"op": "RNN", "lengths": [2, 4, 3], "direction": "bidirectional"},
    "rnn_last_state": {"op": "RNN", "outputs": "Y_h", "inputs": "X W R", "direction": "reverse"},
    "rnn_opset_18": {"op": "RNN", "opset": 18},
}


@pytest.mark.parametrize("name", CASES)
def test_layers(name: str, tmp_path: Path) -> None:
    """Directions, optional inputs and outputs, lengths of sequences."""
    arguments = dict(CASES[name])
    # The node computes float32 only.
    model, feeds = layer(dtype=np.float32, **arguments)
    result = differentiate(model, ["loss"], list(feeds), tmp_path)
    onnx.checker.check_model(result, full_check=True)
    found = run_in_onnxruntime(tmp_path / "gradient.onnx", feeds)
    compare(model, feeds, found, arguments)


def compare(
    model: onnx.ModelProto,
    feeds: dict[str, np.ndarray],
    found: dict[str, np.ndarray],
    arguments: dict[str, Any],
) -> None:
    """Against differences of the steps in float64."""
    times = {
        tensor.name[6:]: onnx.numpy_helper.to_array(tensor).astype(np.float64)
        for tensor in model.graph.initializer
        if tensor.name.startswith("times_")
    }
    wide = {name: value.astype(np.float64) for name, value in feeds.items()}

    def loss(values: dict[str, np.ndarray]) -> float:
        made = run_steps(values, arguments)
        return float(sum((made[name] * times[name]).sum() for name in times))

    assert abs(float(found["loss"]) - loss(wide)) < 1e-4, "the steps are not those of the node"
    for name, value in wide.items():
        expected = np.zeros_like(value)
        for index in np.ndindex(value.shape):
            losses = []
            for sign in (1, -1):
                moved = {**wide, name: value.copy()}
                moved[name][index] += sign * 1e-6
                losses.append(loss(moved))
            expected[index] = (losses[0] - losses[1]) / 2e-6
        error = np.abs(found[f"{name}_grad"] - expected).max() / max(np.abs(expected).max(), 1)
        assert error < 5e-6, f"{name}: {error}"


FUNCTIONS = {
    "Sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "Tanh": lambda x, a, b: np.tanh(x),
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "ThresholdedRelu": lambda x, a, b: np.where(x > a, x, 0),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "Elu": lambda x, a, b: np.where(x < 0, a * (np.exp(np.minimum(x, 0)) - 1), x),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Softplus": lambda x, a, b: np.log1p(np.exp(x)),
}


def run_steps(feeds: dict[str, np.ndarray], arguments: dict[str, Any]) -> dict[str, np.ndarray]:
    """The equations of the operators' documentation, in float64."""
    op = str(arguments["op"])
    gates, x = GATES[op], feeds["X"]
    direction = arguments.get("direction", "forward")
    reverses = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[
        str(direction)
    ]
    lengths = arguments.get("lengths") or [STEPS] * BATCH
    names = arguments.get("activations") or (
        ["Tanh"] if op == "RNN" else ["Sigmoid", "Tanh", "Tanh"]
    )
    alpha = list(arguments.get("activation_alpha", [0.0] * 3))
    beta = list(arguments.get("activation_beta", [0.0] * 3))
    f, g, h = (
        (
            lambda v, i=i: FUNCTIONS[names[i % len(names)]](
                v, alpha[i % len(alpha)], beta[i % len(beta)]
            )
        )
        for i in range(3)
    )
    ys = np.zeros((STEPS, len(reverses), BATCH, HIDDEN))
    last_h = np.zeros((len(reverses), BATCH, HIDDEN))
    last_c = np.zeros_like(last_h)
    for d, is_reverse in enumerate(reverses):
        w, r = feeds["W"][d], feeds["R"][d]
        bias = feeds["B"][d] if "B" in feeds else np.zeros(2 * gates * HIDDEN)
        wb, rb = bias[: gates * HIDDEN], bias[gates * HIDDEN :]
        p = feeds["P"][d] if "P" in feeds else np.zeros(3 * HIDDEN)
        for batch in range(BATCH):
            hidden = feeds["initial_h"][d, batch] if "initial_h" in feeds else np.zeros(HIDDEN)
            cell = feeds["initial_c"][d, batch] if "initial_c" in feeds else np.zeros(HIDDEN)
            steps = list(range(lengths[batch]))
            for t in reversed(steps) if is_reverse else steps:
                a = w @ x[t, batch] + wb
                part = [slice(i * HIDDEN, (i + 1) * HIDDEN) for i in range(gates)]
                if op == "RNN":
                    hidden = f(a + r @ hidden + rb)
                elif op == "GRU":
                    z, reset = (f(a[s] + r[s] @ hidden + rb[s]) for s in part[:2])
                    s = part[2]
                    if arguments.get("linear_before_reset"):
                        n = g(a[s] + reset * (r[s] @ hidden + rb[s]))
                    else:
                        n = g(a[s] + r[s] @ (reset * hidden) + rb[s])
                    hidden = (1 - z) * n + z * hidden
                else:
                    a = a + r @ hidden + rb
                    i = f(a[part[0]] + p[:HIDDEN] * cell)
                    forget = f(a[part[2]] + p[2 * HIDDEN :] * cell)
                    forget = 1 - i if arguments.get("input_forget") else forget
                    cell = forget * cell + i * g(a[part[3]])
                    hidden = f(a[part[1]] + p[HIDDEN : 2 * HIDDEN] * cell) * h(cell)
                ys[t, d, batch] = hidden
            last_h[d, batch], last_c[d, batch] = hidden, cell
    return {"Y": ys, "Y_h": last_h, "Y_c": last_c}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_activations(name: str, tmp_path: Path) -> None:
    """Every function of the list, with its numbers."""
    numbers = {
        "Affine": ([0.5], [0.2]),
        "LeakyRelu": ([0.1], []),
        "ThresholdedRelu": ([0.3], []),
        "ScaledTanh": ([1.5], [0.7]),
        "HardSigmoid": ([0.3], [0.4]),
        "Elu": ([0.8], []),
    }
    arguments: dict[str, Any] = {"op": "RNN", "activations": [name]}
    alpha, beta = numbers.get(name, ([], []))
    if alpha:
        arguments["activation_alpha"] = alpha
    if beta:
        arguments["activation_beta"] = beta
    model, feeds = layer(dtype=np.float32, **arguments)
    differentiate(model, ["loss"], list(feeds), tmp_path)
    found = run_in_onnxruntime(tmp_path / "gradient.onnx", feeds)
    compare(model, feeds, found, arguments)


def test_clip(tmp_path: Path) -> None:
    """What there is no gradient for is said."""
    model, feeds = layer("LSTM", clip=1.0, dtype=np.float32)
    with pytest.raises(AssertionError, match="has no gradient with attribute 'clip'"):
        differentiate(model, ["loss"], list(feeds), tmp_path)
    model, feeds = layer("GRU", activations=["Sigmoid", "Gelu"], dtype=np.float32)
    with pytest.raises(AssertionError, match="has no gradient with activation 'Gelu'"):
        differentiate(model, ["loss"], list(feeds), tmp_path)


def steps_first(model: onnx.ModelProto) -> None:
    """Gives a layer of layout 1 transposed operands, and layout 0: all that ONNX Runtime runs."""
    index = next(i for i, node in enumerate(model.graph.node) if node.name == "layer")
    node = model.graph.node[index]
    node.attribute.remove(next(item for item in node.attribute if item.name == "layout"))
    before, after = [], []
    for position, perm in ((0, [1, 0, 2]), (5, [1, 0, 2]), (6, [1, 0, 2])):
        if position < len(node.input) and node.input[position]:
            name = f"{node.input[position]}_first"
            before.append(helper.make_node("Transpose", [node.input[position]], [name], perm=perm))
            node.input[position] = name
    for position, perm in enumerate(([2, 0, 1, 3], [1, 0, 2], [1, 0, 2])):  # back again
        if position < len(node.output) and node.output[position]:
            name = f"{node.output[position]}_first"
            after.append(helper.make_node("Transpose", [name], [node.output[position]], perm=perm))
            node.output[position] = name
    nodes = list(model.graph.node)
    nodes[index : index + 1] = [*before, node, *after]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("outputs", ["Y Y_h Y_c", "Y_h"])
def test_layout(op: str, outputs: str, tmp_path: Path) -> None:
    """Batches first."""
    arguments: dict[str, Any] = {
        "op": op,
        "outputs": outputs,
        "direction": "bidirectional",
        "lengths": [4, 2, 3],
    }
    model, feeds = layer(dtype=np.float32, **arguments)
    differentiate(model, ["loss"], list(feeds), tmp_path)
    expected = run_in_onnxruntime(tmp_path / "gradient.onnx", feeds)
    swaps = {"X": (1, 0, 2), "initial_h": (1, 0, 2), "initial_c": (1, 0, 2)}
    for value in [*model.graph.input, *model.graph.initializer]:
        if value.name in swaps:
            shape = value.type.tensor_type.shape
            sizes = [dim.dim_value for dim in shape.dim]
            for dim, axis in zip(shape.dim, swaps[value.name], strict=True):
                dim.dim_value = sizes[axis]
        elif value.name.startswith("times_"):
            array = onnx.numpy_helper.to_array(value)
            perm = (2, 0, 1, 3) if array.ndim == 4 else (1, 0, 2)
            array = np.ascontiguousarray(array.transpose(perm))
            value.CopyFrom(onnx.numpy_helper.from_array(array, value.name))
    node = next(node for node in model.graph.node if node.name == "layer")
    node.attribute.append(helper.make_attribute("layout", 1))
    result = differentiate(model, ["loss"], list(feeds), tmp_path)
    steps_first(result)
    onnx.save(result, tmp_path / "first.onnx")
    moved = {
        name: value.transpose(swaps[name]) if name in swaps else value
        for name, value in feeds.items()
    }
    found = run_in_onnxruntime(tmp_path / "first.onnx", moved)
    for name in feeds:
        gradient = found[f"{name}_grad"]
        gradient = gradient.transpose(swaps[name]) if name in swaps else gradient
        assert np.allclose(gradient, expected[f"{name}_grad"], rtol=1e-4, atol=1e-5), name


def test_unknown_sizes(tmp_path: Path) -> None:
    """Only the hidden size is known."""
    arguments: dict[str, Any] = {"op": "LSTM", "direction": "bidirectional"}
    model, feeds = layer(dtype=np.float32, **arguments)
    for value in model.graph.input:
        for index, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"{value.name}_{index}"
    differentiate(model, ["loss"], list(feeds), tmp_path)
    found = run_in_onnxruntime(tmp_path / "gradient.onnx", feeds)
    compare(model, feeds, found, arguments)
