"""`onnx-amp train-graph`: steps that ordinary ONNX Runtime runs, and that train as PyTorch does.

The models, weights and batches are those of test/golden/train.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from stateful import StatefulSession
from tool import SOURCE_DIR, build_dir, is_full, onnx_amp
from training import GOLDEN, RECORDS, optimizer_options

#: Of the loss over 60 steps, in float32: the README of the golden data allows it.
FLOAT32 = 2e-5


class Step(StatefulSession):
    """A training step of a file."""

    def __init__(self, path: Path) -> None:
        onnx.checker.check_model(path, full_check=True)
        self.model = onnx.load(path)
        super().__init__(self.model)


def train_graph(source: Path, target: Path, *options: str) -> Step:
    onnx_amp().run("train-graph", source, "-o", target, *options).expect_success()
    return Step(target)


def without_loss(model: str, folder: Path) -> Path:
    """A golden model whose loss is cut off."""
    proto = onnx.load(GOLDEN / f"{model}.onnx")
    graph = proto.graph
    loss = next(node for node in graph.node if node.op_type == "SoftmaxCrossEntropyLoss")
    graph.node.remove(loss)
    graph.output.remove(next(output for output in graph.output if output.name == "loss"))
    graph.input.remove(next(value for value in graph.input if value.name == loss.input[1]))
    onnx.checker.check_model(proto, full_check=True)
    path = folder / "forward.onnx"
    onnx.save(proto, path)
    return path


def batches(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    with np.load(GOLDEN / "data.npz") as data:
        x, y = data["x"].astype(np.float32), data["y"].astype(np.int64)
        return [(x[batch], y[batch]) for batch in data["order"][:count]]


def losses_of(step: Step, labels: str, count: int) -> np.ndarray:
    return np.array([step.run(**{"x": x, labels: y})["loss"] for x, y in batches(count)])


def golden_losses(model: str, optimizer: str, precision: str, count: int) -> np.ndarray:
    with np.load(GOLDEN / "runs.npz") as runs:
        found: np.ndarray = runs[f"{model}/{optimizer}/{precision}/loss"]
    return found[:count]


@pytest.fixture
def steps(request: pytest.FixtureRequest) -> int:
    """How much of the golden runs is compared."""
    return 60 if is_full(request.config) else 15


@pytest.mark.parametrize("model", ["mlp", "cnn", "transformer"])
def test_float32_follows_pytorch(model: str, steps: int, tmp_path: Path) -> None:
    """With the loss that the model has, and with the same one built."""
    options = [
        *optimizer_options("adamw", RECORDS["optimizers"][model]["adamw"]),
        "--dtype",
        "none",
    ]
    own = losses_of(
        train_graph(GOLDEN / f"{model}.onnx", tmp_path / "own.onnx", "--loss", "loss", *options),
        "y",
        steps,
    )
    built = losses_of(
        train_graph(
            without_loss(model, tmp_path),
            tmp_path / "built.onnx",
            *("--loss", "cross-entropy", "--output", "logits", *options),
        ),
        "labels",
        steps,
    )
    golden = golden_losses(model, "adamw", "fp32", steps)
    assert np.array_equal(own, built)
    assert abs(own[0] - golden[0]) <= 1e-6
    assert np.abs(own - golden).max() <= FLOAT32


@pytest.mark.parametrize("model", ["mlp", "cnn", "transformer"])
def test_float16_with_dynamic_scale_follows_pytorch(model: str, steps: int, tmp_path: Path) -> None:
    step = train_graph(
        without_loss(model, tmp_path),
        tmp_path / "step.onnx",
        *("--loss", "cross-entropy", "--output", "logits", "--dtype", "fp16"),
        *optimizer_options("sgd", RECORDS["optimizers"][model]["sgd"]),
    )
    losses = losses_of(step, "labels", steps)
    golden = golden_losses(model, "sgd", "fp64", steps)
    # How far PyTorch's own float16 is from float64, thrice.
    spread = RECORDS["spread"][f"{model}/sgd"]["fp16_vs_fp64"]
    assert abs(losses[0] - golden[0]) <= 3 * spread["loss_step1"]
    assert np.abs(losses - golden).max() <= 3 * spread["loss_max_60"]
    assert step.state["amp.scale"] == 65536
    assert step.state["amp.growth_tracker"] == step.state["amp.step"] == steps


def test_bfloat16_follows_pytorch(steps: int, tmp_path: Path) -> None:
    """ONNX Runtime has no kernels for bfloat16: float32 computes, and what is stored is rounded."""
    narrow = tmp_path / "narrow.onnx"
    onnx_amp().run(
        *("train-graph", GOLDEN / "mlp.onnx", "-o", narrow, "--loss", "loss", "--dtype", "bf16"),
        *optimizer_options("sgd", RECORDS["optimizers"]["mlp"]["sgd"]),
    ).expect_success()
    onnx.checker.check_model(narrow, full_check=True)
    bin_dir = build_dir() / "bin"
    text = b""
    for command in (
        [bin_dir / "amp-translate", "--onnx-to-mlir", narrow],
        [bin_dir / "amp-opt", "-", "--onnx-widen"],
        [bin_dir / "amp-translate", "--mlir-to-onnx", "-", "-o", tmp_path / "step.onnx"],
    ):
        done = subprocess.run(command, input=text, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[:1000]
        text = done.stdout
    losses = losses_of(Step(tmp_path / "step.onnx"), "y", steps)
    golden = golden_losses("mlp", "sgd", "fp64", steps)
    spread = RECORDS["spread"]["mlp/sgd"]["bf16_vs_fp64"]
    # PyTorch's own is by chance much nearer here than for the other models.
    assert abs(losses[0] - golden[0]) <= 5e-4
    assert np.abs(losses - golden).max() <= 3 * spread["loss_max_60"]


def test_an_overflow_skips_one_step(tmp_path: Path) -> None:
    """Nothing changes but the scale, which halves."""
    step = train_graph(
        GOLDEN / "mlp.onnx", tmp_path / "step.onnx", "--loss", "loss", "--scaler-mode", "torch"
    )
    (x, y), (later_x, later_y) = batches(2)
    step.run(x=x, y=y)
    before = dict(step.state)
    poisoned = x.copy()
    poisoned[0, 0] = np.inf
    assert step.run(x=poisoned, y=y)["amp.found_inf"]
    for name, value in step.state.items():
        if name == "amp.scale":
            assert value == before[name] / 2
        elif name == "amp.growth_tracker":
            assert value == 0
        else:
            assert value.tobytes() == before[name].tobytes(), name
    assert not step.run(x=later_x, y=later_y)["amp.found_inf"]
    assert step.state["amp.step"] == before["amp.step"] + 1
    assert step.state["amp.scale"] == before["amp.scale"] / 2


def test_static_scale_changes_no_loss(tmp_path: Path) -> None:
    """A power of two costs nothing in float32, and is no state."""
    options = ["--loss", "loss", "--dtype", "none", "--optimizer", "sgd", "--lr", "0.1"]
    plain = train_graph(GOLDEN / "mlp.onnx", tmp_path / "plain.onnx", *options)
    scaled = train_graph(
        GOLDEN / "mlp.onnx", tmp_path / "scaled.onnx", *options, "--loss-scale", "static=1024"
    )
    assert list(plain.state) == list(scaled.state)
    assert np.array_equal(losses_of(plain, "y", 5), losses_of(scaled, "y", 5))


def test_init_scale_and_growth(tmp_path: Path) -> None:
    step = train_graph(
        GOLDEN / "mlp.onnx",
        tmp_path / "step.onnx",
        *("--loss", "loss", "--init-scale", "256", "--growth-factor", "4"),
        *("--growth-interval", "3", "--trainable", "fc3.*", "--clip-norm", "0.5"),
    )
    parameters = [name for name in step.state if "." in name and not name.startswith("amp.")]
    assert all(name.startswith("fc3.") for name in parameters)
    assert [(step.run(x=x, y=y), float(step.state["amp.scale"]))[1] for x, y in batches(7)] == [
        256,
        256,
        1024,
        1024,
        1024,
        4096,
        4096,
    ]


#: Models that are unlike the golden ones, in ONNX's text form (float16 as bits): text, options, and a batch.
MODELS: dict[str, tuple[str, list[str], dict[str, np.ndarray]]] = {}


def model_of(name: str, text: str, *options: str, **batch: Any) -> None:
    MODELS[name] = (text, list(options), {key: np.asarray(value) for key, value in batch.items()})


X43 = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
T42 = np.linspace(0, 1, 8, dtype=np.float32).reshape(4, 2)
LABELS = np.array([0, 0, 1, 1])

model_of(
    "opset 7, whose initializers are inputs",
    """<ir_version: 3, opset_import: ["" : 7]>
    forward (float[4,3] x, float[3,2] w, float[2] b) => (float[4,2] y)
    <float[3,2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0, 1}>
    { h = Gemm (x, w, b) y = Softmax <axis = 1> (h) }""",
    *("--loss", "mse"),
    x=X43,
    targets=T42,
)
model_of(
    "float16 weights and outputs",
    """<ir_version: 9, opset_import: ["" : 20]>
    forward (float16[4,3] x) => (float16[4,2] y)
    <float16[3,2] w = {15360, 16384, 0, 15360, 16384, 0}, float16[2] b = {0, 15360}>
    { h = MatMul (x, w) y = Add (h, b) }""",
    *("--loss", "cross-entropy"),
    x=X43.astype(np.float16),
    labels=LABELS,
)
model_of(
    "float16 weights, targets and outputs, in float32",
    """<ir_version: 9, opset_import: ["" : 20]>
    forward (float16[4,3] x) => (float16[4,2] y)
    <float16[3,2] w = {15360, 16384, 0, 15360, 16384, 0}, float16[2] b = {0, 15360}>
    { h = MatMul (x, w) y = Add (h, b) }""",
    *("--loss", "mse", "--dtype", "none"),
    x=X43.astype(np.float16),
    targets=T42.astype(np.float16),
)
for branch in (True, False):
    model_of(
        f"parameters in the branches of an If, {branch}",
        """<ir_version: 9, opset_import: ["" : 20]>
        forward (float[4,3] x, bool c) => (float[4,2] y)
        <float[3,2] w = {1, 2, 3, 4, 5, 6}, float[3,2] v = {1, 2, 3, 4, 5, 7}>
        { y = If (c) <
            then_branch = t () => (float[4,2] a) { a = MatMul (x, w) },
            else_branch = e () => (float[4,2] d) { d = MatMul (x, v) }> }""",
        *("--loss", "mse"),
        x=X43,
        c=branch,
        targets=T42,
    )
model_of(
    "a local function",
    """<ir_version: 9, opset_import: ["" : 20, "my" : 1]>
    forward (float[N,3] x) => (float[N,2] y)
    <float[3,2] w = {1, 2, 3, 4, 5, 6}>
    { h = my.f (x, w) y = Sigmoid (h) }
    <domain: "my", opset_import: ["" : 17]>
    f (a, b) => (c) { c = MatMul (a, b) }""",
    *("--loss", "mse"),
    x=X43,
    targets=T42,
)
model_of(
    "classes in the middle",
    """<ir_version: 9, opset_import: ["" : 20]>
    forward (float[N,3] x) => (float[N,2,2] y)
    <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, int64[3] s = {-1, 2, 2}>
    { h = MatMul (x, w) y = Reshape (h, s) }""",
    *("--loss", "cross-entropy"),
    x=X43,
    labels=np.array([[0, 1], [1, -100], [0, 0], [-100, 1]]),
)
model_of(
    "one example without a batch",
    """<ir_version: 9, opset_import: ["" : 20]>
    forward (float[3] x) => (float[2] y)
    <float[3,2] w = {1, 2, 3, 4, 5, 6}>
    { y = MatMul (x, w) }""",
    *("--loss", "cross-entropy"),
    x=X43[0],
    labels=1,
)
model_of(
    "a loss of one element that is no output",
    """<ir_version: 9, opset_import: ["" : 20]>
    forward (float[4,3] x) => (float[4,2] y)
    <float[3,2] w = {1, 2, 3, 4, 5, 6}>
    { y = MatMul (x, w) s = Mul (y, y) loss = ReduceMean (s) }""",
    *("--loss", "loss", "--dtype", "none", "--output="),
    x=X43,
)
model_of(
    "double",
    """<ir_version: 9, opset_import: ["" : 20]>
    forward (double[4,3] x) => (double[4,2] y)
    <float[3,2] w = {1, 2, 3, 4, 5, 6}>
    { d = Cast <to = 11> (w) y = MatMul (x, d) }""",
    *("--loss", "mse"),
    x=X43.astype(np.float64),
    targets=T42.astype(np.float64),
)


@pytest.mark.parametrize("name", MODELS)
def test_unlike_models_learn(name: str, tmp_path: Path) -> None:
    text, options, batch = MODELS[name]
    source = tmp_path / "model.onnxtxt"
    source.write_text(text)
    step = train_graph(source, tmp_path / "step.onnx", "--lr", "0.05", *options)
    losses = [float(np.squeeze(step.run(**batch)["loss"])) for _ in range(20)]
    assert losses[-1] < losses[0]
    assert all(
        value.dtype == np.float32
        for state, value in step.state.items()
        if not state.startswith("amp.")
    )


def test_loss_is_pytorchs(tmp_path: Path) -> None:
    """Means over labels that are not -100, and over all elements."""
    text, _, batch = MODELS["classes in the middle"]
    source = tmp_path / "model.onnxtxt"
    source.write_text(text)
    options = ["--dtype", "none", "--optimizer", "sgd"]
    step = train_graph(source, tmp_path / "step.onnx", "--loss", "cross-entropy", *options)
    found = step.run(**batch)
    logits, labels = found["y"].astype(np.float64), batch["labels"]
    logp = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    taken = np.take_along_axis(logp, np.maximum(labels, 0)[:, None], 1)[:, 0]
    assert found["loss"] == pytest.approx(-taken[labels >= 0].mean(), rel=1e-6)

    step = train_graph(source, tmp_path / "step.onnx", "--loss", "mse", *options)
    targets = np.ones_like(found["y"])
    found = step.run(x=batch["x"], targets=targets)
    assert found["loss"] == pytest.approx(((found["y"] - targets) ** 2).mean(), rel=1e-6)


def test_external_data_stays_outside(tmp_path: Path) -> None:
    """What was in a file beside the model is in one again, and the input is not touched."""
    source = tmp_path / "model.onnx"
    model = onnx.load(GOLDEN / "mlp.onnx")
    onnx.save(model, source, save_as_external_data=True, location="in.data", size_threshold=1024)
    data = (tmp_path / "in.data").read_bytes()
    inside = train_graph(GOLDEN / "mlp.onnx", tmp_path / "inside.onnx", "--loss", "loss")
    outside = train_graph(source, tmp_path / "outside.onnx", "--loss", "loss")
    assert (tmp_path / "in.data").read_bytes() == data
    stored = onnx.load(tmp_path / "outside.onnx", load_external_data=False)
    external = {
        tensor.name
        for tensor in stored.graph.initializer
        if tensor.data_location == TensorProto.EXTERNAL
    }
    assert "fc1.weight" in external
    (x, y), *_ = batches(1)
    assert inside.run(x=x, y=y)["loss"] == outside.run(x=x, y=y)["loss"]


def test_output_may_be_the_input_but_not_its_data(tmp_path: Path) -> None:
    source = tmp_path / "model.onnx"
    onnx.save(
        onnx.load(GOLDEN / "mlp.onnx"),
        source,
        save_as_external_data=True,
        location="in.data",
        size_threshold=1024,
    )
    error = onnx_amp().run("train-graph", source, "-o", tmp_path / "in.data", "--loss", "loss")
    error.expect_error("in.data")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.data", "model.onnx"]


REFUSED = {
    "an unknown loss": ["--loss", "los"],
    "a loss that is no scalar": ["--loss", "logits"],
    "two outputs": ["--loss", "cross-entropy"],
    "no parameter": ["--loss", "loss", "--trainable", "fc9.*"],
    "a policy that is no file": ["--loss", "loss", "--policy", "./nowhere.yaml"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_leave_nothing(name: str, tmp_path: Path) -> None:
    target = tmp_path / "step.onnx"
    onnx_amp().run("train-graph", GOLDEN / "mlp.onnx", "-o", target, *REFUSED[name]).expect_error()
    assert not list(tmp_path.iterdir())


def test_any_model_is_trained_or_refused(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The models of the other tests, all with --full: each gives a step that the checker takes, or
    one line."""
    sources = sorted((SOURCE_DIR / "test" / "models").glob("*.onnx"))
    sources += sorted((SOURCE_DIR / "test" / "cases").glob("**/*.onnx"))
    assert len(sources) > 10
    trained = 0
    for index, source in enumerate(sources[:: 1 if is_full(request.config) else 5]):
        target = tmp_path / f"{index}.onnx"
        options = ["--loss", ("mse", "cross-entropy")[index // 2 % 2]]
        options += ["--dtype", ("fp16", "bf16")[index % 2]]
        result = onnx_amp().run("train-graph", source, "-o", target, *options)
        assert target.exists() == (result.returncode == 0)
        if result.returncode != 0:
            result.expect_error()
            continue
        onnx.checker.check_model(target, full_check=True)
        trained += 1
    assert trained > 0


def test_a_step_is_no_forward_model(tmp_path: Path) -> None:
    """Training a step once more is refused."""
    first = tmp_path / "first.onnx"
    train_graph(GOLDEN / "mlp.onnx", first, "--loss", "loss")
    result = onnx_amp().run("train-graph", first, "-o", tmp_path / "second.onnx", "--loss", "loss")
    result.expect_error("trainable: the model is a training step already: 'fc1.weight' is state")
    assert not (tmp_path / "second.onnx").exists()


def test_names_that_a_step_adds_may_be_taken(tmp_path: Path) -> None:
    """By values inside, which get other names; by inputs and outputs they can't be."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, [2, 2], [1.0, 2.0, 3.0, 4.0])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 2])
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["w_next"]),
            helper.make_node("Relu", ["w_next"], ["w.exp_avg"]),
            helper.make_node("Tanh", ["w.exp_avg"], ["y"]),
        ],
        "g",
        [x],
        [y],
        [weight],
    )
    source = tmp_path / "model.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), source
    )
    step = train_graph(source, tmp_path / "step.onnx", "--loss", "mse", "--dtype", "none")
    found = step.run(x=np.ones((4, 2), np.float32), targets=np.zeros((4, 2), np.float32))
    assert found["w_next"].shape == (2, 2)
