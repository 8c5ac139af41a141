"""ONNX Runtime's training artifacts: autocast, loss scaling, and the same in ONNX's own operators.

Models rewritten with --lower-ort run in ordinary ONNX Runtime, with the checkpoint's weights on the
batches that ONNX Runtime's training API was run on, and lose what it lost (losses.json). Operators
that the artifacts do not have are held to what the training package gives for them
(ort_training_ops.py). With that package in AMP_ORT_TRAINING its API trains with the
converted models.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from ort_training import ARTIFACTS, MODELS, RECORDS, STEPS, Trainer, batches, session, state_pairs
from ort_training_ops import GOLDEN, Case, cases, flatten
from tool import SOURCE_DIR, Tool, is_full, onnx_amp

#: Largest difference of a loss over 20 steps from ONNX Runtime's own training, in float32. Sums are
#: added up in another order, which is worth some units in the last place of a loss of 2.3
#: (2.4e-7 each).
FLOAT32 = 2e-6
#: In float16: thrice what PyTorch's own differ from float64 for these kinds of models.
FLOAT16 = {"mlp": 3e-3, "cnn": 2e-2, "gpt_op16": 2e-2}
LARGE = float(2**24)


@pytest.fixture
def amp() -> Tool:
    return onnx_amp()


def artifacts(model: str, optimizer: str) -> tuple[Path, Path]:
    folder = ARTIFACTS / model
    return folder / "training_model.onnx", folder / f"{optimizer}.onnx"


def convert(
    amp: Tool, folder: Path, model: str, optimizer: str, *options: str
) -> tuple[Path, Path]:
    targets = folder / "training.onnx", folder / "optimizer.onnx"
    for source, target in zip(artifacts(model, optimizer), targets, strict=True):
        amp.convert(source, target, *options)
    return targets


def make_trainer(
    amp: Tool,
    folder: Path,
    model: str,
    optimizer: str,
    *options: str,
    scale: float | None = None,
    strictly: bool = False,
) -> Trainer:
    """A trainer of models in ONNX's own operators."""
    training, update = convert(amp, folder, model, optimizer, "--lower-ort", *options)
    for path in (training, update):
        result = onnx.load(path)
        onnx.checker.check_model(result, full_check=True)
        assert {node.domain for node in result.graph.node} == {""}
    checkpoint = ARTIFACTS / model / "checkpoint"
    rate = RECORDS[f"{model}/{optimizer}"]["lr"]
    trainer = Trainer(training, update, checkpoint, rate, strictly=strictly)
    if scale is not None:
        trainer.scaler = {
            "loss_scale": np.array(scale, np.float32),
            "amp.growth_tracker": np.array(0, np.int32),
        }
    return trainer


def train(trainer: Trainer, model: str) -> np.ndarray:
    losses = []
    for x, labels in batches(model):
        losses.append(trainer.accumulate(x, labels))
        trainer.update()
    return np.array(losses)


# ======================================================================================
# Autocast
# ======================================================================================

PRESETS = ("inference", "training", "torch", "tensorflow", "apex-O1", "modelopt", "performance")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("model", MODELS)
def test_all_artifacts_convert(amp: Tool, tmp_path: Path, model: str, preset: str) -> None:
    """What trains stays float32: interfaces, accumulators and optimizers."""
    for source in sorted((ARTIFACTS / model).glob("*.onnx")):
        target = tmp_path / source.name
        summary = amp.convert(source, target, "--policy", preset)
        before, after = onnx.load(source), onnx.load(target)
        assert after.graph.input == before.graph.input
        assert after.graph.output == before.graph.output
        names = {node.name for node in after.graph.node}
        # Constants have rounded copies.
        assert names >= {node.name for node in before.graph.node if node.op_type != "Constant"}
        assert not any("does not list" in entry["reason"] for entry in summary.kept), summary.kept
        if source.name in ("adamw.onnx", "sgd.onnx"):
            assert after.graph.node == before.graph.node
        else:
            assert summary.lowered > 0


@pytest.mark.parametrize("model", MODELS)
def test_gradients_reach_the_accumulators_in_float32(amp: Tool, tmp_path: Path, model: str) -> None:
    target = tmp_path / "training.onnx"
    amp.convert(artifacts(model, "adamw")[0], target, "--policy", "training")
    graph = onnx.load(target).graph
    casts = {node.output[0]: node for node in graph.node if node.op_type == "Cast"}
    producers = {name: node for node in graph.node for name in node.output}
    low = {
        name
        for name, node in casts.items()
        if node.attribute[0].i in (TensorProto.FLOAT16, TensorProto.BFLOAT16)
    }
    accumulated = [node.input[1] for node in graph.node if node.op_type == "InPlaceAccumulatorV2"]
    assert len(accumulated) == len(graph.output) - 1
    assert not low & set(accumulated)
    assert any(producers[name].op_type == "Cast" for name in accumulated)


#: What a forward operator's gradient is made of, besides the sums of broadcast gradients and what
#: moves data.
ARITHMETIC = {"Add", "Div", "Erf", "Exp", "FusedMatMul", "Gemm", "MatMul", "Mul", "Neg", "Pow"}
ARITHMETIC |= {"Scale", "Sqrt", "Sub"}


def explained(amp: Tool, source: Path, target: Path, *options: str) -> list[dict[str, Any]]:
    return list(amp.convert(source, target, "--explain", *options)["explain"])


def is_low(entry: dict[str, Any]) -> bool:
    return entry["formats"] in ("float16", "bfloat16")


def differing_pairs(entries: list[dict[str, Any]], pairs: list[tuple[int, int]]) -> list[str]:
    return [
        f"{entries[a]['node']} is {entries[a]['formats']}, {entries[b]['node']} is "
        f"{entries[b]['formats']}: {entries[b]['reason']}"
        for a, b in pairs
        if is_low(entries[a]) != is_low(entries[b])
    ]


def pairs_by_name(entries: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Forward nodes and the nodes of their gradients, as ONNX Runtime names them."""
    index = {entry["node"]: i for i, entry in enumerate(entries)}
    pairs = []
    for i, entry in enumerate(entries):
        forward, _, _ = entry["node"].rpartition("_Grad/")
        operator = entry["operator"].removeprefix("com.microsoft:")
        is_gradient = "Grad" in operator or operator in ARITHMETIC
        if forward in index and is_gradient:
            pairs.append((index[forward], i))
    return pairs


@pytest.mark.parametrize("placement", ["eager", "optimal"])
@pytest.mark.parametrize("model", MODELS)
def test_no_pair_differs(amp: Tool, tmp_path: Path, model: str, placement: str) -> None:
    source = artifacts(model, "adamw")[0]
    for preset in (*PRESETS, "accuracy", "apex-O2", "apex-O3", "ort-transformers"):
        for dtype in ("fp16", "bf16") if preset == "training" else ("fp16",):
            options = ("--policy", preset, "--dtype", dtype, "--placement", placement)
            entries = explained(amp, source, tmp_path / "low.onnx", *options)
            pairs = pairs_by_name(entries)
            assert len(pairs) >= {"mlp": 6, "cnn": 9, "gpt_op16": 40}[model]
            assert not differing_pairs(entries, pairs), (preset, dtype)


@pytest.mark.parametrize("model", MODELS)
def test_pairs_are_found_without_names(amp: Tool, tmp_path: Path, model: str) -> None:
    """Gradient operators and products go by the values that they share."""
    source, bare = artifacts(model, "adamw")[0], tmp_path / "bare.onnx"
    named = explained(
        amp, source, tmp_path / "low.onnx", "--keep-op", "Relu", "--keep-op", "MatMul"
    )
    renamed = onnx.load(source)
    for i, node in enumerate(renamed.graph.node):
        node.name = f"n{i}"
    onnx.save(renamed, bare)
    plain = explained(amp, bare, tmp_path / "low.onnx", "--keep-op", "Relu", "--keep-op", "MatMul")
    by_value = ("Grad", "MatMul", "Gemm")
    pairs = [
        (a, b)
        for a, b in pairs_by_name(named)
        if any(operator in named[b]["operator"] for operator in by_value)
    ]
    assert not differing_pairs(plain, pairs)


def test_what_is_kept_keeps_its_gradient(amp: Tool, tmp_path: Path) -> None:
    source, target = artifacts("cnn", "adamw")[0], tmp_path / "low.onnx"
    forward, gradient = "/c2/Conv", "/c2/Conv_Grad/ConvGrad_0"
    for kept, other in ((forward, gradient), (gradient, forward)):
        found = explained(amp, source, target, "--keep-node", kept)
        entries = {entry["node"]: entry for entry in found}
        assert not is_low(entries[kept])
        assert not is_low(entries[other])
        assert f"'{kept}'" in entries[other]["reason"]
        assert is_low(entries["/c1/Conv"])


# ======================================================================================
# In ONNX's own operators
# ======================================================================================


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("model", MODELS)
def test_lowered_models_train_as_onnx_runtime_does(
    amp: Tool, tmp_path: Path, pytestconfig: pytest.Config, model: str, optimizer: str
) -> None:
    if (model, optimizer) == ("gpt_op16", "sgd") and not is_full(pytestconfig):
        pytest.skip("with --full")
    trainer = make_trainer(amp, tmp_path, model, optimizer, "--dtype", "none")
    losses = train(trainer, model)
    assert np.abs(losses - RECORDS[f"{model}/{optimizer}"]["losses"]).max() <= FLOAT32
    assert trainer.step_count == STEPS


def test_gradients_accumulate(amp: Tool, tmp_path: Path) -> None:
    """Two halves of a batch give the sum of their gradients."""
    trainer = make_trainer(amp, tmp_path, "mlp", "sgd", "--dtype", "none")
    x, labels = next(batches("mlp"))
    halves = []
    for part in (slice(0, 32), slice(32, 64)):
        trainer.accumulate(x[part], labels[part])
        halves.append(dict(trainer.buffers))
    trainer.accumulate(x[:32], labels[:32])
    trainer.accumulate(x[32:], labels[32:], restart=False)
    for name, value in trainer.buffers.items():
        assert np.array_equal(value, halves[0][name] + halves[1][name])


@pytest.fixture(scope="module")
def recorded() -> dict[str, np.ndarray]:
    with np.load(GOLDEN) as file:
        return dict(file)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_operators(amp: Tool, tmp_path: Path, case: Case, recorded: dict[str, np.ndarray]) -> None:
    source, target = tmp_path / "case.onnx", tmp_path / "lowered.onnx"
    onnx.save(case.model(), source)
    amp.convert(source, target, "--dtype", "none", "--lower-ort")
    result = onnx.load(target)
    onnx.checker.check_model(result, full_check=True)
    assert {node.domain for node in result.graph.node} == {""}
    names = {value.name for value in result.graph.input}
    feeds = {name: value for name, value in case.inputs.items() if name in names}
    found = flatten(session(result).run(None, feeds))
    wanted = [recorded[f"{case.name}/{i}"] for i in range(len(found))]
    assert f"{case.name}/{len(found)}" not in recorded
    for have, want in zip(found, wanted, strict=True):
        assert have.shape == want.shape
        # float32 sums of some dozen terms, of size 1 or so.
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-5 * max(1, np.abs(want).max()))


# ======================================================================================
# Loss scaling
# ======================================================================================


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_scaled_float16_trains_as_float32_does(amp: Tool, tmp_path: Path, model: str) -> None:
    options = ("--policy", "training", "--loss-scale", "dynamic")
    trainer = make_trainer(amp, tmp_path, model, "adamw", *options, scale=1024.0, strictly=True)
    losses = train(trainer, model)
    assert np.abs(losses - RECORDS[f"{model}/adamw"]["losses"]).max() <= FLOAT16[model]
    assert trainer.step_count == STEPS


def test_scale_leaves_float32_gradients_alone(amp: Tool, tmp_path: Path) -> None:
    """Powers of two round nothing."""
    x, labels = next(batches("mlp"))
    found = []
    for folder, options in (("a", ("none",)), ("b", ("dynamic",)), ("c", ("static=1024",))):
        (tmp_path / folder).mkdir()
        scale = 4096.0 if options == ("dynamic",) else None
        trainer = make_trainer(
            amp,
            tmp_path / folder,
            "mlp",
            "sgd",
            "--dtype",
            "none",
            "--loss-scale",
            *options,
            scale=scale,
        )
        trainer.accumulate(x, labels)
        found.append(trainer.buffers)
    for other in found[1:]:
        assert all(np.array_equal(value, other[name]) for name, value in found[0].items())


def test_an_overflow_skips_one_step(amp: Tool, tmp_path: Path) -> None:
    options = ("--policy", "training", "--loss-scale", "dynamic", "--growth-interval", "20")
    trainer = make_trainer(amp, tmp_path, "mlp", "adamw", *options, scale=LARGE, strictly=True)
    taken, scales = [], []
    for x, labels in batches("mlp"):
        before = (
            dict(trainer.weights),
            {name: list(each) for name, each in trainer.moments.items()},
        )
        trainer.accumulate(x, labels)
        trainer.update()
        scales.append(float(trainer.scaler["loss_scale"]))
        taken.append(trainer.updated)
        assert trainer.updated == (not trainer.outputs["amp.found_inf"])
        unchanged = all(
            np.array_equal(value, trainer.weights[name]) for name, value in before[0].items()
        ) and all(
            np.array_equal(a, b)
            for name, each in before[1].items()
            for a, b in zip(each, trainer.moments[name], strict=True)
        )
        assert unchanged == (not trainer.updated)
    assert not taken[0]
    assert scales[0] == LARGE / 2
    assert any(taken)
    assert trainer.step_count == sum(taken)


def test_an_overflow_in_one_micro_batch_skips_the_step(amp: Tool, tmp_path: Path) -> None:
    options = ("--policy", "training", "--loss-scale", "dynamic")
    trainer = make_trainer(amp, tmp_path, "mlp", "adamw", *options, scale=LARGE, strictly=True)
    x, labels = next(batches("mlp"))
    trainer.accumulate(x, labels)
    assert trainer.outputs["amp.found_inf"]
    trainer.scaler["loss_scale"] = np.array(1024, np.float32)
    trainer.accumulate(x, labels, restart=False)
    assert not trainer.outputs["amp.found_inf"]
    trainer.update()
    assert not trainer.updated


def test_a_static_scale_is_no_input(amp: Tool, tmp_path: Path) -> None:
    training, _ = convert(amp, tmp_path, "mlp", "adamw", "--loss-scale", "static=1024")
    before, after = onnx.load(artifacts("mlp", "adamw")[0]), onnx.load(training)
    assert after.graph.input == before.graph.input
    assert after.graph.output == before.graph.output
    assert not state_pairs(after)


def test_a_signal_that_is_there_counts_too(amp: Tool, tmp_path: Path) -> None:
    case = next(each for each in cases() if each.name == "adamw_skipped")
    source, target = tmp_path / "case.onnx", tmp_path / "scaled.onnx"
    onnx.save(case.model(), source)
    amp.convert(source, target, "--dtype", "none", "--loss-scale", "dynamic", "--lower-ort")
    for signal, gradient, updated in (
        (True, 1.0, True),
        (False, 1.0, False),
        (True, np.inf, False),
    ):
        feeds = dict(case.inputs)
        feeds["signal"] = np.array([signal])
        feeds["gradients"] = [np.full_like(each, gradient) for each in feeds["gradients"]]
        assert bool(session(onnx.load(target)).run(["flag"], feeds)[0]) == updated


def test_the_optimizer_model_keeps_its_interface(amp: Tool, tmp_path: Path) -> None:
    """ONNX Runtime's training API wants these inputs and no others."""
    for optimizer, position in (("adamw", 6), ("sgd", 3)):
        _, update = convert(amp, tmp_path, "mlp", optimizer, "--loss-scale", "dynamic")
        before, after = onnx.load(artifacts("mlp", optimizer)[1]), onnx.load(update)
        assert after.graph.input == before.graph.input
        assert after.graph.output == before.graph.output
        node = next(each for each in after.graph.node if each.domain == "com.microsoft")
        assert len(node.input) == position + 1


# ======================================================================================
# Errors
# ======================================================================================


def write(folder: Path, *nodes: onnx.NodeProto, opset: int = 18) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    path = folder / "bad.onnx"
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


def test_errors_of_lowering(amp: Tool, tmp_path: Path) -> None:
    def fails(*texts: str, **attributes: Any) -> None:
        op, inputs = attributes.pop("op"), attributes.pop("inputs", ["x"])
        node = helper.make_node(op, inputs, ["y"], "it", domain="com.microsoft", **attributes)
        source, target = write(tmp_path, node), tmp_path / "out.onnx"
        amp.run("convert", source, "-o", target, "--lower-ort").expect_error("'it'", *texts)
        assert not target.exists()

    fails("there is no rule for it here", op="MoEGate")
    fails("its forward operation is not in the model", op="MaxPoolGrad", inputs=["x", "x"])
    fails("it transposes batches", op="FusedMatMul", inputs=["x", "x"], transBatchA=1)


def test_errors_of_scaling(amp: Tool, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    source = write(tmp_path, helper.make_node("Relu", ["x"], ["y"]))
    amp.run("convert", source, "-o", target, "--loss-scale", "dynamic").expect_error(
        "expects ONNX Runtime's training model or optimizer model"
    )
    training = onnx.load(artifacts("mlp", "adamw")[0])
    del training.graph.initializer[0]
    seed = helper.make_tensor_value_info("onnx::loss::2_grad", TensorProto.FLOAT, [])
    training.graph.input.append(seed)
    onnx.save(training, source)
    amp.run("convert", source, "-o", target, "--loss-scale", "dynamic").expect_error(
        "expects an initializer 'LOSS_grad'"
    )
    amp.convert(artifacts("mlp", "adamw")[0], target, "--loss-scale", "dynamic")
    again = tmp_path / "again.onnx"
    amp.run("convert", target, "-o", again, "--loss-scale", "dynamic").expect_error(
        "has an input 'loss_scale' already"
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            ("--loss-scale", "2"),
            "--loss-scale: expected dynamic, static=NUMBER or none, but got '2'",
        ),
        (("--loss-scale", "static=0"), "expected a positive number after 'static=', but got '0'"),
        (("--loss-scale", "static=x"), "expected a positive number after 'static=', but got 'x'"),
        (("--growth-interval", "5"), "--growth-interval goes with --loss-scale dynamic"),
        (("--loss-scale=dynamic", "--no-keep-io-types"), "but got --no-keep-io-types"),
        (("--loss-scale=dynamic", "--scaler-mode", "apex"), "--scaler-mode"),
        (("--loss-scale=dynamic", "--growth-factor", "0.5"), "--growth-factor"),
    ],
)
def test_errors_of_options(amp: Tool, tmp_path: Path, options: tuple[str, ...], text: str) -> None:
    source = artifacts("mlp", "adamw")[0]
    amp.run("convert", source, "-o", tmp_path / "o.onnx", *options).expect_error(text, code=2)


# ======================================================================================
# In ONNX Runtime's training API
# ======================================================================================


def train_in_api(folder: Path, model: str, optimizer: str, *scale: str) -> dict[str, Any]:
    package = os.environ["AMP_ORT_TRAINING"]
    script = SOURCE_DIR / "test" / "python" / "run_ort_training.py"
    source = ARTIFACTS / model
    command = [sys.executable, script, folder / "training.onnx", source / "eval_model.onnx"]
    command += [folder / "optimizer.onnx", source / "checkpoint", model]
    command += [str(RECORDS[f"{model}/{optimizer}"]["lr"]), *scale]
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": package},
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


needs_package = pytest.mark.skipif(
    not os.environ.get("AMP_ORT_TRAINING"),
    reason="AMP_ORT_TRAINING has no onnxruntime-training-cpu",
)


@needs_package
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("model", MODELS)
def test_api_trains_converted_models(amp: Tool, tmp_path: Path, model: str, optimizer: str) -> None:
    """float16 by the policy, a dynamic scale as the model's last inputs, the same checkpoint."""
    convert(amp, tmp_path, model, optimizer, "--policy", "training", "--loss-scale", "dynamic")
    found = train_in_api(tmp_path, model, optimizer, "1024")
    assert not any(found["found_inf"])
    difference = np.abs(np.array(found["losses"]) - RECORDS[f"{model}/{optimizer}"]["losses"])
    assert difference.max() <= FLOAT16[model]


@needs_package
def test_api_skips_steps(amp: Tool, tmp_path: Path) -> None:
    """With a scale that is beyond float32 when it meets gradients; safe mode bounds it."""
    for optimizer in ("adamw", "sgd"):
        convert(amp, tmp_path, "mlp", optimizer, "--policy", "training", "--loss-scale", "dynamic")
        found = train_in_api(tmp_path, "mlp", optimizer, "inf")
        assert found["found_inf"] == [True] + [False] * (STEPS - 1)
        assert found["unchanged"] == found["found_inf"]
        assert found["scales"][0] == LARGE


@needs_package
def test_api_with_a_static_scale(amp: Tool, tmp_path: Path) -> None:
    convert(amp, tmp_path, "cnn", "adamw", "--policy", "training", "--loss-scale", "static=1024")
    found = train_in_api(tmp_path, "cnn", "adamw")
    assert (
        np.abs(np.array(found["losses"]) - RECORDS["cnn/adamw"]["losses"]).max() <= FLOAT16["cnn"]
    )
