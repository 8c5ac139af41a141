"""Gradients with less memory: amp-recompute, in ONNX Runtime.

What is computed again is the same to the last bit, is not merged with what was computed before, and
is not computed before it is needed: the memory that a process takes falls as predicted.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import corpus
import numpy as np
import onnx
import onnxruntime
import pytest
import recompute_models
from corpus import CorpusModel
from onnx import TensorProto, helper, numpy_helper
from recompute_models import chain, inputs_of, transformer
from stateful import checked, pipe
from test_gradients_corpus import REFUSED, differentiate, selected, weights_of, with_loss
from tool import is_full, onnx_amp
from training import GOLDEN, train

BASIC = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
ALL = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
NONE = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
SAID = re.compile(
    r"peak of activations: ([\d.]+) (.?)B, ([\d.]+) (.?)B without recomputation \(predicted\); "
    r"(\d+) repeated nodes?, ([\d.]+)% more flops"
)
POWERS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


class Made:
    """A model with gradients, and what was said of it."""

    def __init__(
        self, model: onnx.ModelProto, wrt: list[str], path: Path, *options: str, loss: str = "loss"
    ) -> None:
        source = path.with_suffix(".forward.onnx")
        onnx.save(model, source)
        names = [f"--wrt={name}" for name in wrt]
        command = [onnx_amp().path, "differentiate", source]
        done = subprocess.run(
            [*command, "-o", path, f"--loss={loss}", *names, *options],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[:1000]
        onnx.checker.check_model(path, full_check=True)
        self.path = path
        said = SAID.search(done.stdout)
        if said:
            self.peak = float(said[1]) * POWERS[said[2]]
            self.plain_peak = float(said[3]) * POWERS[said[4]]
            self.repeated = int(said[5])
            self.work = float(said[6])

    def run(
        self, inputs: dict[str, np.ndarray], level: onnxruntime.GraphOptimizationLevel
    ) -> dict[str, np.ndarray]:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        options.optimized_model_filepath = str(self.path.with_suffix(".optimized.onnx"))
        session = onnxruntime.InferenceSession(
            self.path, options, providers=["CPUExecutionProvider"]
        )
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(None, inputs), strict=True))

    def count_optimized(self, op: str) -> int:
        """Nodes of an operator in what ONNX Runtime made of the model, in the last run()."""
        model = onnx.load(self.path.with_suffix(".optimized.onnx"))
        return sum(op in node.op_type for node in model.graph.node)

    def measure(self, order: str = "DEFAULT") -> int:
        """Bytes, in a process of its own that gives memory back at once."""
        environment = os.environ | {
            "MALLOC_MMAP_THRESHOLD_": "65536",
            "MALLOC_TRIM_THRESHOLD_": "0",
        }
        command = [sys.executable, recompute_models.__file__, self.path, order]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return int(done.stdout)


def assert_same_bits(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    assert a.keys() == b.keys()
    different = [name for name in a if a[name].tobytes() != b[name].tobytes()]
    assert not different


def test_chain_takes_the_memory_predicted(tmp_path: Path) -> None:
    model, wrt = chain(layers=24, batch=2048, width=128)
    plain = Made(model, wrt, tmp_path / "plain.onnx")
    automatic = Made(model, wrt, tmp_path / "auto.onnx", "--recompute=auto")
    # 24 values of 1 MiB are needed backward.
    assert automatic.plain_peak >= 24 << 20
    assert automatic.peak <= 0.4 * automatic.plain_peak
    assert automatic.work <= 34
    # Kernels have buffers of their own, and the allocator pages.
    slack = 3 << 20
    assert plain.measure() >= automatic.plain_peak - slack
    for order in ("DEFAULT", "PRIORITY_BASED"):
        assert automatic.measure(order) <= automatic.peak + slack

    budget = 16 << 20
    within = Made(model, wrt, tmp_path / "budget.onnx", f"--recompute=budget={budget}")
    assert within.peak <= 1.005 * budget  # as printed
    assert within.measure() <= budget + slack
    assert within.work < automatic.work


def test_transformer_takes_the_memory_predicted(tmp_path: Path) -> None:
    model, wrt = transformer(layers=6, batch=4, length=128, width=128, heads=4, vocabulary=64)
    plain = Made(model, wrt, tmp_path / "plain.onnx")
    automatic = Made(model, wrt, tmp_path / "auto.onnx", "--recompute=auto")
    assert automatic.peak <= 0.35 * automatic.plain_peak
    assert automatic.work <= 34
    slack = 3 << 20
    assert automatic.measure() <= automatic.peak + slack
    assert plain.measure() >= automatic.plain_peak - slack

    inputs = inputs_of(model)
    expected = plain.run(inputs, NONE)
    assert_same_bits(expected, automatic.run(inputs, NONE))
    # By default, ONNX Runtime fuses some of the repeated nodes in another way than the first ones.
    largest = max(np.abs(array).max() for array in expected.values())
    for name, array in automatic.run(inputs, ALL).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-4, atol=1e-6 * largest)
    # LayerNormalization has no gradient that reads what it made: most are repeated, none is merged.
    repeated = sum(
        node.op_type == "LayerNormalization" and node.name.endswith("_again")
        for node in onnx.load(automatic.path).graph.node
    )
    assert repeated >= 4
    assert automatic.count_optimized("LayerNormalization") == 13 + repeated


@pytest.mark.parametrize(
    "recompute", ["auto", "budget=500kB", "nodes=act.*", "nodes=(act|l)[0-9]+"]
)
@pytest.mark.parametrize("level", [NONE, BASIC, ALL])
def test_chain_is_the_same_to_the_last_bit(
    tmp_path: Path, recompute: str, level: onnxruntime.GraphOptimizationLevel
) -> None:
    model, wrt = chain(layers=8, batch=256, width=64)
    # Some infinities, NaNs and zeros with a sign must come through, too.
    inputs = inputs_of(model)
    inputs["x"][0, :4] = [np.inf, -np.inf, np.nan, -0.0]
    plain = Made(model, wrt, tmp_path / "plain.onnx")
    again = Made(model, wrt, tmp_path / "again.onnx", f"--recompute={recompute}")
    expected = plain.run(inputs, level)
    first = plain.count_optimized("Tanh") + plain.count_optimized("FusedGemm")
    assert_same_bits(expected, again.run(inputs, level))
    repeated = sum(
        node.op_type == "Tanh" and "_again" in node.name
        for node in onnx.load(again.path).graph.node
    )
    assert repeated > 0
    assert again.count_optimized("Tanh") + again.count_optimized("FusedGemm") == first + repeated


def test_sizes_that_are_not_known(tmp_path: Path) -> None:
    model, wrt = chain(layers=8, batch="N", width=32)
    plain = Made(model, wrt, tmp_path / "plain.onnx")
    again = Made(model, wrt, tmp_path / "again.onnx", "--recompute=auto", "--dim=N=1000")
    assert again.plain_peak >= 8 * 1000 * 32 * 4
    assert again.peak < 0.6 * again.plain_peak
    for batch in (1, 7, 0):
        inputs = inputs_of(model, N=batch)
        assert_same_bits(plain.run(inputs, NONE), again.run(inputs, NONE))


def test_running_statistics_are_updated_once(tmp_path: Path) -> None:
    """BatchNormalization in training mode runs again; its statistics are those of the first run."""
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["c"], name="conv"),
        helper.make_node(
            "BatchNormalization",
            ["c", "scale", "bias", "mean", "var"],
            ["n", "mean_next", "var_next"],
            name="norm",
            training_mode=1,
        ),
        helper.make_node("Relu", ["n"], ["r"], name="relu"),
        helper.make_node("Mul", ["r", "r"], ["s"], name="square"),
        helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0),
    ]
    random = np.random.default_rng(0)
    arrays = {
        "k": random.normal(size=(4, 3, 3, 3)).astype(np.float32),
        "scale": np.ones(4, np.float32),
        "bias": np.full(4, 0.1, np.float32),
        "mean": np.zeros(4, np.float32),
        "var": np.ones(4, np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "norm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
        [
            helper.make_tensor_value_info("loss", TensorProto.FLOAT, []),
            helper.make_tensor_value_info("mean_next", TensorProto.FLOAT, [4]),
            helper.make_tensor_value_info("var_next", TensorProto.FLOAT, [4]),
        ],
        # `scale` and `var` are equal, which ONNX Runtime makes one.
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    wrt = ["k", "scale", "bias"]
    plain = Made(model, wrt, tmp_path / "plain.onnx")
    again = Made(model, wrt, tmp_path / "again.onnx", "--recompute=nodes=norm|relu|conv")
    assert again.repeated == 3
    inputs = inputs_of(model)
    for level in (NONE, BASIC, ALL):
        assert_same_bits(plain.run(inputs, level), again.run(inputs, level))


def test_control_flow_runs_again(tmp_path: Path) -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 9, opset_import: ["" : 18]>
        g (float[64,32] x, bool take) => (float loss)
        <float[32] w = {0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1,1.1,1.2,1.3,1.4,1.5,1.6,
                        0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1,1.1,1.2,1.3,1.4,1.5,1.6}>
        {
          a = Mul (x, w)
          [branch] b = If (take) <
            then_branch = t () => (float[64,32] u) { u = Sin (a) },
            else_branch = e () => (float[64,32] v) { m = Mul (a, a) v = Mul (m, w) }>
          c = Exp (b)
          d = Mul (c, b)
          loss = ReduceMean <keepdims = 0> (d)
        }
    """)
    plain = Made(model, ["w"], tmp_path / "plain.onnx")
    again = Made(model, ["w"], tmp_path / "again.onnx", "--recompute=nodes=branch|a|c")
    assert again.repeated == 3
    x = np.random.default_rng(2).normal(size=(64, 32)).astype(np.float32)
    for take in (True, False):
        inputs = {"x": x, "take": np.array(take)}
        assert_same_bits(plain.run(inputs, NONE), again.run(inputs, NONE))


@pytest.mark.parametrize(("name", "low"), [("mlp", ""), ("cnn", ""), ("mlp", "fp16")])
def test_steps_stay_the_same(name: str, low: str) -> None:
    """Recomputation stands between autocast and the optimizer, and leaves them alone."""
    before = ["--onnx-infer-types", "--amp-make-parameters=loss=loss"]
    if low:
        autocast = f"--amp-autocast=policy=training low={low} placement=eager"
        before += [autocast, "--amp-to-onnx", "--onnx-merge-casts"]
    before.append("--amp-differentiate=loss=loss")
    after = ["--amp-attach-optimizer=optimizer=adamw lr=1e-3", "--amp-to-onnx"]
    text = pipe(b"", ["amp-translate", "--onnx-to-mlir", GOLDEN / f"{name}.onnx"])
    found = []
    for recompute in ([], ["--amp-recompute=auto loss=loss"]):
        step = pipe(text, ["amp-opt", "-", *before, *recompute, *after])
        assert (b"_again" in step) == bool(recompute)
        model = checked(pipe(step, ["amp-translate", "--mlir-to-onnx", "-"]))
        found.append(train(model, 5))
    (losses, state), (losses_again, state_again) = found
    if low:
        # ONNX Runtime leaves out casts, and with them roundings, between some nodes in float16.
        np.testing.assert_allclose(losses, losses_again, rtol=1e-4)
    else:
        assert losses == losses_again
        assert_same_bits(state, state_again)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "corpus_model" in metafunc.fixturenames:
        models = [
            model for model in selected(is_full(metafunc.config)) if model.name not in REFUSED
        ]
        metafunc.parametrize("corpus_model", models, ids=lambda model: model.name)


def test_real_models_are_the_same_to_the_last_bit(
    corpus_model: CorpusModel, tmp_path: Path
) -> None:
    model = onnx.load(corpus_model.path)
    inputs = corpus.load_inputs(corpus_model)
    with_loss(model)
    weights = weights_of(model)
    path = tmp_path / "plain.onnx"
    if not weights or differentiate(model, weights, path):
        pytest.skip("no weights with gradients")
    plain = Made(model, sorted(weights), path, loss="amp_loss")
    again = Made(
        model, sorted(weights), tmp_path / "auto.onnx", "--recompute=auto", loss="amp_loss"
    )
    assert again.peak <= again.plain_peak
    assert_same_bits(plain.run(inputs, NONE), again.run(inputs, NONE))
