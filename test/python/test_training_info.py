"""`training_info`: kept, converted with its model, made of steps and made steps of.

What a model means is what `training_info.Training` does with it.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from lossless import differences
from running import run_in_onnxruntime
from step_passes import make_golden_step, settings_of
from tool import amp_opt, amp_translate, onnx_amp
from training import GOLDEN, RECORDS
from training_info import Step, Training, combined_models
from training_models import (
    ADAM,
    CONV,
    DESCENT,
    FUNCTIONS,
    FUNCTIONS_HEADER,
    GUARD,
    LINEAR,
    MOMENTUM,
    SWAP,
    Info,
    make,
)

RANDOM = np.random.default_rng(17)
X = RANDOM.standard_normal((8, 4)).astype(np.float32)
TARGET = RANDOM.standard_normal((8, 2)).astype(np.float32)
IMAGES = RANDOM.standard_normal((5, 1, 6, 6)).astype(np.float32)
FEEDS = {
    "momentum": {"x": X, "target": TARGET},
    "adam": {"x": X, "target": TARGET},
    "descent": {"x": X, "target": TARGET},
    "guard": {"x": X, "target": TARGET},
    "swap": {"x": np.array([0.5, -2], np.float32)},
    "conv": {"x": IMAGES, "labels": np.array([0, 1, 2, 1, 0])},
}


def model_of(name: str) -> onnx.ModelProto:
    """One of the models, by name."""
    graphs: dict[str, tuple[str, list[Info]]] = {
        "momentum": (LINEAR, [MOMENTUM]),
        "adam": (LINEAR, [ADAM]),
        "descent": (LINEAR, DESCENT),
        "swap": SWAP,
        "conv": CONV,
        "guard": (LINEAR, [GUARD]),
    }
    return make(*graphs[name])


def convert(model: onnx.ModelProto, folder: Path, *options: str) -> onnx.ModelProto:
    source, target = folder / "in.onnx", folder / "out.onnx"
    onnx.save(model, source)
    onnx_amp().run("convert", source, "-o", target, "--quiet", *options).expect_success()
    result = onnx.load(target)
    onnx.checker.check_model(result, full_check=True)
    return result


def check_combined(model: onnx.ModelProto) -> None:
    """What the checker leaves out: an algorithm and the main graph are one valid graph."""
    for combined in combined_models(model):
        onnx.checker.check_model(combined, full_check=True)


def operators(graph: onnx.GraphProto) -> set[str]:
    return {node.op_type for node in graph.node}


@pytest.mark.parametrize("name", FEEDS)
def test_is_kept(name: str, tmp_path: Path) -> None:
    model = model_of(name)
    assert not differences(model, convert(model, tmp_path, "--dtype", "none"))
    source = tmp_path / "in.onnx"
    text = amp_translate().run("--onnx-to-mlir", source).expect_success().stdout
    back = amp_translate().run("--mlir-to-onnx", "-", stdin=text).expect_success().stdout
    assert not differences(model, onnx.load_from_string(back))


def reference(name: str, steps: int) -> list[float]:
    """Losses in float64."""
    losses = []
    w = np.array([0.5, -1, 0.25, 2, -0.5, 1, 0.75, -2]).reshape(4, 2)
    b = np.array([0.5, -0.5])
    state = [(w, np.zeros_like(w), np.zeros_like(w)), (b, np.zeros_like(b), np.zeros_like(b))]
    for t in range(steps):

        def gradients() -> tuple[float, list[np.ndarray]]:
            d = X @ state[0][0] + state[1][0] - TARGET
            return float((d * d).mean()), [X.T @ d * 2 / d.size, d.sum(0) * 2 / d.size]

        loss, slopes = gradients()
        losses.append(loss)
        for i in range(2):
            if name == "descent" and i == 1:
                loss, slopes = gradients()
                losses.append(loss)
            x, v, h = state[i]
            if name == "adam":
                g = 0.01 * x + slopes[i]
                v, h = 0.5 * v + 0.5 * g, 0.75 * h + 0.25 * g * g
                rate = 0.1 * np.sqrt(1 - 0.75**t) / (1 - 0.5**t) if t else 0.1
                x = 0.999 * (x - rate * v / (np.sqrt(h) + 1e-3))
            elif name == "momentum":
                v = 0.9 * v + slopes[i]
                x = x - 0.05 * v
            else:
                x = x - 0.1 * slopes[i]
            state[i] = (x, v, h)
    return losses


@pytest.mark.parametrize("name", ["momentum", "adam", "descent"])
def test_flat_is_what_the_model_means(name: str, tmp_path: Path) -> None:
    """Flat steps of a model follow its formulas, written in NumPy."""
    flat = convert(model_of(name), tmp_path, "--dtype", "none", "--form", "flat")
    assert not {"Gradient", "Adam", "Momentum"} & operators(flat.graph)
    step = Step(flat)
    losses = []
    for _ in range(6):
        outputs = step.run(FEEDS[name])
        losses += [value for key, value in outputs.items() if key.startswith("loss")]
    assert np.allclose(losses, reference(name, 6), rtol=1e-5)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("low", ["fp16", "bf16"])
@pytest.mark.parametrize("name", FEEDS)
def test_algorithm_is_converted_with_the_model(name: str, low: str, tmp_path: Path) -> None:
    model = model_of(name)
    options = ["--dtype", low, "--policy", "training"]
    converted = convert(model, tmp_path, *options)
    check_combined(converted)
    # Bindings, and what they are about, are as before.
    for old, new in zip(model.training_info, converted.training_info, strict=True):
        assert list(old.update_binding) == list(new.update_binding)
        assert list(old.initialization_binding) == list(new.initialization_binding)
        assert list(old.algorithm.input) == list(new.algorithm.input)
        assert [value.name for value in old.algorithm.output] == [
            value.name for value in new.algorithm.output
        ]
        assert not differences(old.initialization, new.initialization)
        assert "Gradient" not in operators(new.algorithm)
    assert {tensor.name for tensor in model.graph.initializer} <= {
        tensor.name for tensor in converted.graph.initializer
    }
    if name != "swap":
        assert "Cast" in operators(converted.graph)


@pytest.mark.parametrize("name", FEEDS)
def test_converted_steps_give_the_same_numbers(name: str, tmp_path: Path) -> None:
    """In both forms, bit for bit; and those of float32 but for rounding."""
    model, options = model_of(name), ["--dtype", "fp16", "--policy", "training"]
    flat = Step(convert(model, tmp_path, *options, "--form", "flat"))
    exact = Step(convert(model, tmp_path, "--dtype", "none", "--form", "flat"))
    training = Training(expanded(convert(model, tmp_path, *options)))
    for _ in range(4):
        first = training.step(FEEDS[name])[0]
        expected, float32 = flat.run(FEEDS[name]), exact.run(FEEDS[name])
        for key in first.keys() & expected.keys():
            assert np.array_equal(first[key], expected[key], equal_nan=True), key
            assert np.allclose(expected[key], float32[key], rtol=0.1, atol=0.05), key


def test_several_algorithms_work_one_after_the_other(tmp_path: Path) -> None:
    """The second one's loss is that of what the first one updated."""
    model, options = model_of("descent"), ["--dtype", "fp16", "--policy", "training"]
    training = Training(convert(model, tmp_path, *options))
    flat = Step(convert(model, tmp_path, *options, "--form", "flat"))
    for _ in range(3):
        first, second = training.step(FEEDS["descent"])
        outputs = flat.run(FEEDS["descent"])
        assert second["loss"] < first["loss"]
        assert outputs["loss"] == first["loss"]
        assert outputs["loss_1"] == second["loss"]


def test_initialization(tmp_path: Path) -> None:
    """It starts training anew; random numbers with a seed are the same again."""
    training = Training(
        expanded(convert(model_of("adam"), tmp_path, "--dtype", "fp16", "--policy", "training"))
    )
    training.initialize()
    first = training.step(FEEDS["adam"])[0]["loss"]
    for _ in range(3):
        training.step(FEEDS["adam"])
    assert training.state[0, "T"] == 4
    training.initialize()
    assert training.state[0, "T"] == 0
    assert training.step(FEEDS["adam"])[0]["loss"] == first


def expanded(model: onnx.ModelProto) -> onnx.ModelProto:
    """Without optimizer nodes, which ONNX Runtime does not have."""
    text = amp_translate().run("--onnx-to-mlir", "-", stdin=model.SerializeToString())
    done = amp_opt().run("-", "--onnx-expand-optimizers", stdin=text.expect_success().stdout)
    back = amp_translate().run("--mlir-to-onnx", "-", stdin=done.expect_success().stdout)
    return onnx.load_from_string(back.expect_success().stdout)


def test_swap_and_an_output_of_the_model(tmp_path: Path) -> None:
    flat = Step(convert(model_of("swap"), tmp_path, "--dtype", "none", "--form", "flat"))
    x = FEEDS["swap"]["x"]
    p, q, last = np.array([1, 2], np.float32), np.array([3, 4], np.float32), np.zeros(2, np.float32)
    for _ in range(3):
        outputs = flat.run(FEEDS["swap"])
        assert np.array_equal(outputs["old"], last)
        last, p, q = x * p + q, q, p
        assert np.array_equal(outputs["y"], last)
        assert np.array_equal(outputs["p_new"], p)


def test_converting_again_changes_nothing(tmp_path: Path) -> None:
    options = ["--dtype", "fp16", "--policy", "training"]
    for name in ("adam", "descent", "guard"):
        once = convert(model_of(name), tmp_path, *options)
        assert not differences(once, convert(once, tmp_path, *options))


@pytest.mark.parametrize("low", ["", "fp16"])
def test_local_functions(low: str, tmp_path: Path) -> None:
    """Those of the model stay as they are; the step's own, which autocast changed, come beside them."""
    model = make(FUNCTIONS, [], FUNCTIONS_HEADER)
    onnx.save(model, tmp_path / "in.onnx")
    passes = "onnx-infer-types,amp-make-parameters{loss=loss},"
    if low:
        passes += f"amp-autocast{{policy=training low={low}}},amp-to-onnx,"
    passes += "amp-differentiate{loss=loss},amp-attach-optimizer{optimizer=sgd},amp-to-onnx"
    text = amp_translate().run("--onnx-to-mlir", tmp_path / "in.onnx").expect_success().stdout
    done = amp_opt().run("-", f"--amp-make-training-info=pipeline={passes}", stdin=text)
    back = amp_translate().run("--mlir-to-onnx", "-", stdin=done.expect_success().stdout)
    made = onnx.load_from_string(back.expect_success().stdout)
    onnx.checker.check_model(made, full_check=True)
    check_combined(made)
    assert list(made.graph.node) == list(model.graph.node)
    names = {function.name: function for function in made.functions}
    for function in model.functions:
        assert not differences(function, names[function.name])
    training = Training(made)
    losses = [training.step({"x": X, "target": TARGET})[0] for _ in range(4)]
    name = "loss_step" if low else "loss"
    assert losses[3][name] < losses[0][name]


#: What the passes that make a step are, for --amp-make-training-info.
def training_pipeline(model: str, optimizer: str, low: str) -> str:
    options, names = settings_of(RECORDS["optimizers"][model][optimizer])
    passes = ["onnx-infer-types", "amp-make-parameters{loss=loss}"]
    if low:
        passes += [f"amp-autocast{{policy=training low={low} placement=eager}}"]
        passes += ["amp-to-onnx", "onnx-merge-casts"]
    passes += ["amp-differentiate{loss=loss}"]
    passes += [
        f"amp-attach-optimizer{{optimizer={optimizer} {options} settings={','.join(names)}}}",
        "amp-to-onnx",
        "onnx-infer-types",
    ]
    return ",".join(passes)


@pytest.mark.parametrize(
    ("model", "optimizer", "low"),
    [
        ("mlp", "adamw", ""),
        ("mlp", "sgd", "fp16"),
        ("transformer", "adam", "fp16"),
        ("cnn", "sgd", ""),
    ],
)
def test_steps_as_training_info(model: str, optimizer: str, low: str, tmp_path: Path) -> None:
    """The steps that follow PyTorch, in this form, give the same losses bit for bit."""
    flat = Step(make_golden_step(model, optimizer, low))
    source = GOLDEN / f"{model}.onnx"
    text = amp_translate().run("--onnx-to-mlir", source).expect_success().stdout
    pipeline = training_pipeline(model, optimizer, low)
    done = amp_opt().run("-", f"--amp-make-training-info=pipeline={pipeline}", stdin=text)
    back = amp_translate().run("--mlir-to-onnx", "-", stdin=done.expect_success().stdout)
    made = onnx.load_from_string(back.expect_success().stdout)
    onnx.checker.check_model(made, full_check=True)
    check_combined(made)
    # The inference graph is the model.
    forward = onnx.load(source)
    assert [node.op_type for node in made.graph.node] == [
        node.op_type for node in forward.graph.node
    ]
    assert list(made.graph.output) == list(forward.graph.output)
    assert {tensor.name for tensor in made.graph.initializer} == {
        tensor.name for tensor in forward.graph.initializer
    }
    info = made.training_info[0]
    own = {tensor.name for tensor in info.algorithm.initializer}
    assert {item.key for item in info.initialization_binding} == own & {
        item.key for item in info.update_binding
    }
    # In float32, the loss is that of the inference graph, unless gradients take nodes to pieces.
    is_shared = not low and model != "cnn"
    outputs = {value.name for value in info.algorithm.output}
    assert {"loss_step", "logits_step"} & outputs == (
        set() if is_shared else {"loss_step", "logits_step"}
    )

    training = Training(made)
    training.initialize()
    with np.load(GOLDEN / "data.npz") as data:
        x, y, order = data["x"].astype(np.float32), data["y"].astype(np.int64), data["order"]
    name = "loss" if is_shared else "loss_step"
    first = None
    for batch in order[:8]:
        feeds = {"x": x[batch], "y": y[batch]}
        expected = flat.run(feeds)["loss"]
        loss = training.step(feeds)[0][name]
        assert loss == expected
        first = loss if first is None else first
    for state in flat.pairs:
        place = 0 if state in own else -1
        assert np.array_equal(training.state[place, state], flat.state[state])
    training.initialize()
    assert training.step({"x": x[order[0]], "y": y[order[0]]})[0][name] == first

    # And back: the same step.
    again = Step(convert(made, tmp_path, "--dtype", "none", "--form", "flat"))
    assert again.pairs.keys() == flat.pairs.keys()
    feeds = {"x": x[order[0]], "y": y[order[0]]}
    assert again.run(feeds)[name] == first


def test_loss_scaling(tmp_path: Path) -> None:
    """The guard's branches read values of both graphs; a step that overflows changes the scale alone."""
    model = onnx.load(GOLDEN / "mlp.onnx")
    model.graph.input.append(
        onnx.helper.make_tensor_value_info("scale", onnx.TensorProto.FLOAT, [])
    )
    model.graph.initializer.append(
        onnx.helper.make_tensor("scale", onnx.TensorProto.FLOAT, [], [65536])
    )
    onnx.save(model, tmp_path / "in.onnx")
    passes = (
        "onnx-infer-types,amp-make-parameters{loss=loss},amp-autocast{policy=training low=fp16},"
        "amp-to-onnx,amp-differentiate{loss=loss seed=scale},"
        "amp-attach-optimizer{optimizer=adamw seed=scale clip-norm=1},amp-attach-scaler{seed=scale},"
        "amp-to-onnx,onnx-infer-types"
    )
    text = amp_translate().run("--onnx-to-mlir", tmp_path / "in.onnx").expect_success().stdout

    def run(option: str) -> onnx.ModelProto:
        done = amp_opt().run("-", option, stdin=text).expect_success()
        back = amp_translate().run("--mlir-to-onnx", "-", stdin=done.stdout).expect_success()
        return onnx.load_from_string(back.stdout)

    made = run(f"--amp-make-training-info=pipeline={passes}")
    check_combined(made)
    training, flat = Training(made), Step(run(f"--pass-pipeline=builtin.module({passes})"))
    with np.load(GOLDEN / "data.npz") as data:
        x, y, order = data["x"].astype(np.float32), data["y"].astype(np.int64), data["order"]
    for i, batch in enumerate(order[:4]):
        feeds = {"x": np.where(i == 2, np.float32(np.inf), x[batch]), "y": y[batch]}
        loss = training.step(feeds)[0]["loss_step"]
        assert np.array_equal(loss, flat.run(feeds)["loss"], equal_nan=True)
    assert training.state[-1, "scale"] == 32768
    assert training.state[0, "amp.step"] == 3
    for (_, key), value in training.state.items():
        assert np.array_equal(value, flat.state[key]), key


def node_tests() -> list[tuple[str, onnx.ModelProto, Sequence[np.ndarray], Sequence[np.ndarray]]]:
    """ONNX's own, for the operators of ai.onnx.preview.training."""
    for name in ("adagrad", "adam", "momentum"):
        importlib.import_module(f"onnx.backend.test.case.node.{name}")
    importlib.import_module("onnx.backend.test.case.model.gradient")
    nodes = importlib.import_module("onnx.backend.test.case.node")._NodeTestCases
    models = importlib.import_module("onnx.backend.test.case.model")._SimpleModelTestCases
    return [
        (case.name, case.model, *case.data_sets[0])
        for case in (*nodes, *models)
        if any(opset.domain == "ai.onnx.preview.training" for opset in case.model.opset_import)
    ]


NODE_TESTS = node_tests()


def test_there_are_node_tests() -> None:
    assert len(NODE_TESTS) >= 9


@pytest.mark.parametrize(
    ("model", "inputs", "outputs"),
    [case[1:] for case in NODE_TESTS],
    ids=[case[0] for case in NODE_TESTS],
)
def test_node(
    model: onnx.ModelProto,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    tmp_path: Path,
) -> None:
    if not any(opset.domain == "" for opset in model.opset_import):
        model.opset_import.add(domain="", version=18)
    text = (
        amp_translate().run("--onnx-to-mlir", "-", stdin=model.SerializeToString()).expect_success()
    )
    passes = ["--onnx-infer-types", "--onnx-raise-opset=min-opset=18 policy=tf32 low=tf32"]
    passes += ["--onnx-expand-gradients", "--onnx-expand-optimizers"]
    done = amp_opt().run("-", *passes, stdin=text.stdout).expect_success()
    target = tmp_path / "out.onnx"
    amp_translate().run("--mlir-to-onnx", "-", "-o", target, stdin=done.stdout).expect_success()
    result = onnx.load(target)
    assert not any(node.domain for node in result.graph.node)
    feeds = {value.name: array for value, array in zip(model.graph.input, inputs, strict=True)}
    got = run_in_onnxruntime(target, feeds)
    for expected, actual in zip(outputs, got.values(), strict=True):
        assert actual.shape == np.shape(expected)
        assert np.allclose(actual, expected, rtol=1e-5, atol=1e-7)


def one(update: str, algorithm: str = "", **fields: str) -> list[Info]:
    """One TrainingInfoProto with a simple algorithm."""
    default = "a (float[N,2] t) => (float[2] b2, float[4,2] w2) { b2 = Neg(b)  w2 = Neg(W) }"
    return [Info(algorithm or default, update, **fields)]


#: What is wrong, and what is said of it.
WRONG = {
    "unknown key": (one("B: b2"), ["training_info 0", "'B'", "did you mean 'b'"]),
    "unknown value": (one("b: b3"), ["update_binding assigns 'b3' to 'b'", "did you mean 'b2'"]),
    "key is no initializer": (one("xw: b2"), ["'xw'", "no dense initializer"]),
    "twice in one": (one("b: b2, b: b2"), ["assigns to 'b' twice"]),
    "twice in two": (
        one("b: b2") + one("b: b2"),
        ["training_info 1", "'b', as training_info 0 does"],
    ),
    "another shape": (one("b: w2"), ["'w2', a 'tensor<4x2xf32>', to 'b', a 'tensor<2xf32>'"]),
    "another element type": (
        one("b: c", "a () => (double[2] c) { c = Cast<to = 11>(b) }"),
        ["'c'", "f64"],
    ),
    "shadowed initializer": (
        one("b: b2", "a () => (float[2] b2) <float[4,2] W = {1,1,1,1,1,1,1,1}> { b2 = Neg(b) }"),
        ["defines 'W', as the main graph does"],
    ),
    "shadowed input": (
        one("b: b2", "a (float[N,4] x) => (float[2] b2) { b2 = Neg(b) }"),
        ["defines 'x', as the main graph does"],
    ),
    "shadowed node": (
        one("b: y", "a () => (float[2] y) { y = Neg(b) }"),
        ["defines 'y', as the main graph does"],
    ),
    "initialization with inputs": (
        one(
            "b: b2",
            initialization="i (float[2] z) => (float[2] z0) { z0 = Neg(z) }",
            initial="b: z0",
        ),
        ["initialization graph expects no inputs, but has 1"],
    ),
    "initialization reads the model": (
        one("b: b2", initialization="i () => (float[2] z0) { z0 = Neg(b) }", initial="b: z0"),
        ["initialization graph reads 'b' of the main graph"],
    ),
    "initialization of nothing": (
        one(
            "b: b2",
            initialization="i () => (float[2] z0) { z0 = Constant<value_floats = [1.0, 2.0]>() }",
            initial="b: z1",
        ),
        ["initialization_binding assigns 'z1' to 'b'", "did you mean 'z0'"],
    ),
    "initialization of an unknown key": (
        one(
            "b: b2",
            initialization="i () => (float[2] z0) { z0 = Constant<value_floats = [1.0, 2.0]>() }",
            initial="q: z0",
        ),
        ["initialization_binding assigns to 'q'"],
    ),
    "undefined value": (
        one("b: b2", "a () => (float[2] b2) { b2 = Neg(ghost) }"),
        ["training_info", "'ghost', which is not defined"],
    ),
    "gradient of nothing": (
        one(
            "b: b2",
            'a () => (float[2] b2) { b2 = ai.onnx.preview.training.Gradient<xs = ["b"], y = "nothing">(b) }',
        ),
        ["y to name values", "'nothing'"],
    ),
}


@pytest.mark.parametrize("form", ["training-info", "flat"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_models(name: str, form: str, tmp_path: Path) -> None:
    infos, texts = WRONG[name]
    onnx.save(make(LINEAR, infos), tmp_path / "in.onnx")
    result = onnx_amp().run(
        "convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--form", form
    )
    result.expect_error(*texts)
    assert not (tmp_path / "out.onnx").exists()


def test_two_algorithms_in_one(tmp_path: Path) -> None:
    """Fields that come twice on the wire are two graphs, not one."""
    model = make(LINEAR, one("b: b2"))
    info = model.training_info[0].SerializeToString()
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    del plain.training_info[:]
    graph = model.training_info[0].algorithm.SerializeToString()
    twice = info + b"\x12" + varint(len(graph)) + graph
    data = plain.SerializeToString() + b"\xa2\x01" + varint(len(twice)) + twice
    (tmp_path / "in.onnx").write_bytes(data)
    result = onnx_amp().run("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx")
    result.expect_error("training_info 0 has two graphs for its algorithm")


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    onnx.save(make(LINEAR, [ADAM]), tmp_path / "in.onnx")
    onnx.save(onnx.load(GOLDEN / "mlp.onnx"), tmp_path / "plain.onnx")
    np.savez(tmp_path / "data.npz", x=X)

    def error(source: str, *options: str) -> str:
        target = tmp_path / "out.onnx"
        return onnx_amp().run("convert", tmp_path / source, "-o", target, *options).stderr

    assert "has no training_info" in error("plain.onnx", "--form", "flat")
    assert "keep their types" in error("in.onnx", "--no-keep-io-types")
    data = str(tmp_path / "data.npz")
    assert "has training_info: --calibrate" in error("in.onnx", "--calibrate", data)


def test_early_opsets_are_raised(tmp_path: Path) -> None:
    header = '<ir_version: 7, opset_import: ["" : 12, "ai.onnx.preview.training" : 1]>\n'
    model = make(LINEAR, [ADAM], header)
    flat = Step(convert(model, tmp_path, "--dtype", "none", "--form", "flat"))
    losses = [flat.run(FEEDS["adam"])["loss"] for _ in range(3)]
    assert np.allclose(losses, reference("adam", 3), rtol=1e-5)
    source = tmp_path / "in.onnx"
    options = ["-o", tmp_path / "no.onnx", "--form", "flat", "--max-opset", "17"]
    result = onnx_amp().run("convert", source, *options)
    result.expect_error("expanded in opset 18 or later, but --max-opset is 17")
