"""amp-optimize-casts changes no value: random models that move and cast data give the same bits before and after.

Models are built with Cast nodes of two kinds: the model's own, and some that are `amp.cast` for the pass.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tool import amp_opt, amp_translate, is_full

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
SHAPE = [2, 3, 4]
Value = tuple[str, int]


class Model:
    """A random graph; every value has the shape 2x3x4."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.values: list[Value] = [("x", FLOAT), ("y", HALF)]

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{kind}_{self.count}"

    def node(
        self, operator: str, inputs: list[str], kind: str, **attributes: Any
    ) -> onnx.NodeProto:
        output = self.fresh(kind)
        return helper.make_node(operator, inputs, [output], name=output, **attributes)

    def step(self, values: list[Value]) -> list[onnx.NodeProto]:
        """One value more, of one that is there."""
        name, element = self.random.choice(values[-4:])
        if self.random.random() < 0.45:
            element = FLOAT if element == HALF else HALF
            kind = self.random.choice(["ours", "ours", "user"])
            nodes = [self.node("Cast", [name], kind, to=element)]
        else:
            nodes = self.move(name, element, values)
        values.append((nodes[-1].output[0], element))
        return nodes

    def move(self, name: str, element: int, values: list[Value]) -> list[onnx.NodeProto]:
        other = self.random.choice([value for value, kind in values if kind == element])
        half = "half16" if element == HALF else "half"
        match self.random.randrange(7):
            case 0:
                return [self.node("Transpose", [name], "mover", perm=[0, 1, 2])]
            case 1:
                flat = self.node("Flatten", [name], "mover", axis=2)
                return [flat, self.node("Reshape", [flat.output[0], "shape"], "mover")]
            case 2:
                wide = self.node("Unsqueeze", [name, "axis"], "mover")
                return [wide, self.node("Squeeze", [wide.output[0], "axis"], "mover")]
            case 3:
                both = self.node("Concat", [name, other], "mover", axis=0)
                gather = self.node("Gather", [both.output[0], "index"], "mover", axis=0)
                return [both, gather, self.cut(gather.output[0], 2)]
            case 4:
                first = self.cut(name, 1)
                return [first, self.node("Expand", [first.output[0], "shape"], "mover")]
            case 5:
                padded = self.node("Pad", [name, "pads", half], "mover")
                return [padded, self.cut(padded.output[0], 2)]
        parts = helper.make_node(
            "Split", [name], [self.fresh("mover"), self.fresh("mover")], axis=2, num_outputs=2
        )
        parts.name = parts.output[0]
        return [parts, self.node("Concat", list(reversed(parts.output)), "mover", axis=2)]

    def cut(self, name: str, length: int) -> onnx.NodeProto:
        return self.node("Slice", [name, "starts", "ends" if length == 1 else "two"], "mover")

    def branch(self) -> onnx.GraphProto:
        values, nodes = list(self.values), []
        for _ in range(self.random.randrange(1, 5)):
            nodes += self.step(values)
        if values[-1][1] != FLOAT:
            nodes.append(self.node("Cast", [values[-1][0]], "ours", to=FLOAT))
            values.append((nodes[-1].output[0], FLOAT))
        if values[-1][0].startswith("ours_"):  # no graph's output is a cast of ours
            nodes.append(self.node("Identity", [values[-1][0]], "output"))
            values.append((nodes[-1].output[0], FLOAT))
        name, element = values[-1]
        return helper.make_graph(
            nodes, self.fresh("branch"), [], [helper.make_tensor_value_info(name, element, SHAPE)]
        )

    def build(self) -> onnx.ModelProto:
        nodes: list[onnx.NodeProto] = []
        for _ in range(self.random.randrange(4, 14)):
            nodes += self.step(self.values)
            if self.random.random() < 0.1:
                then, otherwise = self.branch(), self.branch()
                nodes.append(self.node("If", ["c"], "if", then_branch=then, else_branch=otherwise))
                self.values.append((nodes[-1].output[0], FLOAT))
        used = {name for node in nodes for name in node.input}
        outputs = []
        for name, element in self.values[2:]:
            if name not in used or self.random.random() < 0.2:
                if name.startswith("ours_"):
                    nodes.append(self.node("Identity", [name], "output"))
                    name = nodes[-1].output[0]
                outputs.append(helper.make_tensor_value_info(name, element, SHAPE))
        integers = {
            "index": [1, 0, 1],
            "shape": SHAPE,
            "axis": [0],
            "starts": [0],
            "ends": [1],
            "two": [2],
            "pads": [1, 0, 0, 0, 0, 0],
        }
        constants = [
            *(numpy_helper.from_array(np.array(v, np.int64), k) for k, v in integers.items()),
            numpy_helper.from_array(np.array(0.5, np.float32), "half"),
            numpy_helper.from_array(np.array(0.5, np.float16), "half16"),
        ]
        inputs = [
            helper.make_tensor_value_info(n, e, SHAPE) for n, e in (("x", FLOAT), ("y", HALF))
        ]
        inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
        graph = helper.make_graph(nodes, "random", inputs, outputs, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


OURS = re.compile(
    r'"onnx\.Cast"\((%[\w#]+)\) <\{[^}]*\}> \{[^}]*onnx\.name = "ours_\d+"[^}]*\} : \((.*?)\) -> (.*)'
)


def prepare(text: str) -> str:
    """Casts of ours become amp.cast, what moves data says so."""
    text = OURS.sub(r"amp.cast \1 : \2 to \3", text)
    return re.sub(r'onnx\.name = "mover_', 'amp.transparent, onnx.name = "mover_', text)


def export(text: Path, target: Path, *passes: str) -> bytes:
    lowered = target.with_suffix(".low.mlir")
    amp_opt().run(*passes, "--amp-to-onnx", text, "-o", lowered).expect_success()
    amp_translate().run("--mlir-to-onnx", lowered, "-o", target).expect_success()
    return target.read_bytes()


def run(path: Path, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    known = {value.name for value in session.get_inputs()}
    results = session.run(names, {k: v for k, v in feeds.items() if k in known})
    return dict(zip(names, results, strict=True))


def run_both(
    one: Path, other: Path, feeds: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """In ONNX Runtime or, where that takes out a cast that a branch reads (1.32), in ONNX's reference."""
    try:
        return run(one, feeds), run(other, feeds)
    except Exception as error:
        assert "Missing Input" in str(error), error
    found = []
    for path in (one, other):
        evaluator = ReferenceEvaluator(str(path))
        found.append(dict(zip(evaluator.output_names, evaluator.run(None, feeds), strict=True)))
    return found[0], found[1]


def named_values(graph: onnx.GraphProto) -> set[str]:
    """The names of what nodes give, here and in branches, but for casts of ours."""
    names = {name for node in graph.node for name in node.output if not name.startswith("ours_")}
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= named_values(attribute.g)
    return names


def test_values_are_the_same_to_the_bit(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    numbers = np.random.default_rng(0)
    wide = numbers.standard_normal(SHAPE).astype(np.float32) * np.float32(3e3)
    wide.flat[:5] = [np.inf, -0.0, 1e-7, 1e5, 65519.0]
    low = numbers.standard_normal(SHAPE).astype(np.float16)
    changed = 0
    for seed in range(200 if is_full(pytestconfig) else 10):
        source, text = tmp_path / "source.onnx", tmp_path / "source.mlir"
        model = Model(seed).build()
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, source)
        amp_translate().run("--onnx-to-mlir", source, "-o", text).expect_success()
        typed = tmp_path / "typed.mlir"
        amp_opt().run("--onnx-infer-types", text, "-o", typed).expect_success()
        text.write_text(prepare(typed.read_text()))
        export(text, tmp_path / "plain.onnx")
        best = export(text, tmp_path / "best.onnx", "--amp-optimize-casts")
        assert best == export(text, tmp_path / "again.onnx", *2 * ["--amp-optimize-casts"]), seed
        one, other = (onnx.load(tmp_path / name).graph for name in ("plain.onnx", "best.onnx"))
        assert named_values(model.graph) <= named_values(other), seed
        changed += len(list(one.node)) != len(list(other.node))
        for condition in (True, False):
            feeds = {"x": wide, "y": low, "c": np.array(condition)}
            first, second = run_both(tmp_path / "plain.onnx", tmp_path / "best.onnx", feeds)
            assert first.keys() == second.keys(), seed
            for name, value in first.items():
                assert value.dtype == second[name].dtype, (seed, name)
                assert value.tobytes() == second[name].tobytes(), (seed, name)
    assert changed > 3
