"""Random ONNX models whose nodes call local functions, from the main graph, loops, branches and other functions."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE = 4
OPSET = 20

# Operators whose values stay small, and how many operands they take.
OPERATORS = {"MatMul": 2, "Softmax": 1, "Add": 2, "Relu": 1, "Tanh": 1, "Transpose": 1, "Max": 2}

IMPORTS = [helper.make_opsetid("", OPSET), helper.make_opsetid("local", 1)]


class Generator:
    """Draws one model."""

    def __init__(self, seed: int, regions: bool) -> None:
        self.random = random.Random(seed)
        self.regions = regions
        self.count = 0
        # By name, how many inputs and outputs.
        self.functions: dict[str, tuple[int, int]] = {}

    def name(self, prefix: str) -> str:
        """A name that nothing else in the model has."""
        self.count += 1
        return f"{prefix}{self.count}"

    def node(
        self, op: str, inputs: list[str], outputs: list[str], **options: Any
    ) -> onnx.NodeProto:
        return helper.make_node(op, inputs, outputs, name=self.name("n"), **options)

    def pick(self, values: list[str], count: int) -> list[str]:
        return [self.random.choice(values[-5:]) for _ in range(count)]

    def nodes(self, values: list[str], size: int, depth: int) -> list[onnx.NodeProto]:
        """Nodes on these values, to which theirs are added."""
        nodes: list[onnx.NodeProto] = []
        for _ in range(size):
            draw = self.random.random()
            if draw < 0.1:
                data = np.full((SIZE, SIZE), self.random.choice([0.5, 1e-12]), np.float32)
                outputs = [self.name("c")]
                nodes.append(
                    self.node("Constant", [], outputs, value=numpy_helper.from_array(data))
                )
            elif draw < 0.55 or (draw < 0.8 and not self.functions):
                op = self.random.choice(list(OPERATORS))
                outputs = [self.name("v")]
                nodes.append(self.node(op, self.pick(values, OPERATORS[op]), outputs))
            elif draw < 0.85 and self.functions:
                callee = self.random.choice(list(self.functions))
                arguments, results = self.functions[callee]
                outputs = [self.name("v") for _ in range(results)]
                nodes.append(
                    self.node(callee, self.pick(values, arguments), outputs, domain="local")
                )
            elif depth > 0 and self.regions:
                outputs = self.region(nodes, values, depth)
            else:
                continue
            values += outputs
        return nodes

    def region(self, nodes: list[onnx.NodeProto], values: list[str], depth: int) -> list[str]:
        """A branch or a loop."""
        outputs = [self.name("v")]
        if self.random.random() < 0.5:
            condition = self.name("c")
            true = numpy_helper.from_array(np.array(True))
            nodes.append(self.node("Constant", [], [condition], value=true))
            graphs = {
                key: self.graph(values, [], 1, depth) for key in ("then_branch", "else_branch")
            }
            nodes.append(self.node("If", [condition], outputs, **graphs))
            return outputs
        count = self.name("c")
        nodes.append(self.node("Constant", [], [count], value=numpy_helper.from_array(np.array(2))))
        state, iteration, condition = self.name("s"), self.name("i"), self.name("k")
        body = self.graph(values, [state], 1, depth)
        body.input.insert(0, helper.make_tensor_value_info(condition, TensorProto.BOOL, []))
        body.input.insert(0, helper.make_tensor_value_info(iteration, TensorProto.INT64, []))
        going = self.name("k")
        body.node.append(self.node("Identity", [condition], [going]))
        body.output.insert(0, helper.make_tensor_value_info(going, TensorProto.BOOL, []))
        nodes.append(self.node("Loop", [count, "", *self.pick(values, 1)], outputs, body=body))
        return outputs

    def graph(
        self, outer: list[str], inputs: list[str], results: int, depth: int
    ) -> onnx.GraphProto:
        values = [*outer, *inputs]
        nodes = self.nodes(values, self.random.randint(1, 4), depth - 1)
        outputs = [self.name("o") for _ in range(results)]
        nodes += [self.node("Relu", self.pick(values, 1), [output]) for output in outputs]
        return helper.make_graph(
            nodes, self.name("g"), [tensor(v) for v in inputs], [tensor(v) for v in outputs]
        )

    def function(self) -> onnx.FunctionProto:
        inputs = [self.name("a") for _ in range(self.random.randint(1, 2))]
        values = list(inputs)
        nodes = self.nodes(values, self.random.randint(1, 5), 1)
        results = self.random.randint(1, 2)
        outputs = [self.name("r") for _ in range(results)]
        nodes += [self.node("Tanh", self.pick(values, 1), [output]) for output in outputs]
        name = self.name("f")
        function = helper.make_function("local", name, inputs, outputs, nodes, IMPORTS)
        self.functions[name] = (len(inputs), results)
        return function

    def model(self) -> onnx.ModelProto:
        functions = [self.function() for _ in range(self.random.randint(1, 4))]
        values = ["x", "y"]
        nodes = self.nodes(values, self.random.randint(4, 14), 2)
        outputs = [self.name("z") for _ in range(2)]
        nodes += [self.node("Relu", self.pick(values, 1), [output]) for output in outputs]
        graph = helper.make_graph(
            nodes, "main", [tensor("x"), tensor("y")], [tensor(z) for z in outputs]
        )
        return helper.make_model(
            graph,
            functions=functions,
            opset_imports=IMPORTS,
            ir_version=self.random.choice([8, 10]),
        )


def tensor(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [SIZE, SIZE])


def generate(seed: int, regions: bool = True) -> onnx.ModelProto:
    """The model of this seed; with branches and loops, or without."""
    return Generator(seed, regions).model()
