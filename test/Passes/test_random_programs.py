"""Autocast on random programs: decisions equal the oracle's, and what is always true is true."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from autocast_oracle import Oracle
from random_program import generate, print_program

POLICY = Path(__file__).parent / "Inputs" / "policy.yaml"
LOW = {"fp16": "f16", "bf16": "bf16"}

NAME = re.compile(r'(?:node_name|tag) = "(n\d+)"')
FUNCTION = re.compile(r"func\.func .*@(\w+)\(")


def run(build_dir: Path, program: str | bytes, *options: str) -> bytes:
    """The output of amp-test-opt; fails with its messages and the program."""
    source = program if isinstance(program, bytes) else program.encode()
    tool = build_dir / "bin" / "amp-test-opt"
    result = subprocess.run([tool, *options], input=source, capture_output=True, check=False)
    assert result.returncode == 0, f"{result.stderr.decode()[:2000]}\n{program!r}"
    return result.stdout


def options(low: str, keep_io_types: bool) -> str:
    """The options of the pipeline, and of the pass that decides."""
    return f"policy={POLICY} low={low} keep-io-types={str(keep_io_types).lower()}"


def annotation(line: str, name: str) -> list[str]:
    """The element types of an annotation; empty if there is none, or it changes nothing."""
    found = re.search(rf"{name} = \[+([^\]]*)\]", line)
    return found[1].split(", ") if found else []


def changes(types: list[str]) -> list[str]:
    """As `annotation`: empty if every type is kept."""
    return types if any(entry != "unit" for entry in types) else []


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("keep_io_types", [True, False])
def test_decisions_equal_the_oracles(
    build_dir: Path, low: str, keep_io_types: bool, pytestconfig: pytest.Config
) -> None:
    seeds = range(1000 if pytestconfig.getoption("--full") else 25)
    ranged = 0
    for seed in seeds:
        program = generate(seed)
        flag = f"--amp-annotate-precision={options(low, keep_io_types)} specialize=false"
        text = run(build_dir, print_program(program), flag).decode()
        if "static range" in text:  # of what regions give, which the oracle does not look at
            ranged += 1
            continue
        oracle = Oracle(program, LOW[low], keep_io_types)
        operations = {operation.name: operation for operation in oracle.operations}
        functions = {function.name: function for function in program}
        for line in text.splitlines():
            if (found := NAME.search(line)) and operations[found[1]].kind != "const":
                name = "amp.result_types" if "tag" in line else "amp.precision"
                expected = changes(oracle.expected_precision(operations[found[1]]))
                assert annotation(line, name) == expected, (seed, line)
            if found := FUNCTION.search(line):
                function = functions[found[1]]
                expected = changes(oracle.expected_result_types(function))
                assert annotation(line, "amp.result_types") == expected, (seed, line)
                expected = changes(["unit"] * 3 + oracle.types(function.arguments))
                assert annotation(line, "amp.argument_types") == expected, (seed, line)
    assert ranged <= len(seeds) // 8


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("keep_io_types", [True, False])
@pytest.mark.parametrize("placement", ["eager", "optimal"])
def test_pipeline_is_idempotent_and_deterministic(
    build_dir: Path, low: str, keep_io_types: bool, placement: str, pytestconfig: pytest.Config
) -> None:
    flag = f"--amp-autocast={options(low, keep_io_types)} placement={placement}"
    # In 107, calls carry around a value that the first conversion casts.
    for seed in range(500) if pytestconfig.getoption("--full") else [*range(10), 107]:
        program = print_program(generate(seed))
        # The pipeline verifies types at its end.
        once = run(build_dir, program, flag)
        assert run(build_dir, once, flag) == once, seed
        # Bytecode lists the uses of values in another order.
        assert run(build_dir, run(build_dir, program, "--emit-bytecode"), flag) == once, seed


def test_copies_are_bounded(build_dir: Path) -> None:
    """Functions each of which calls the next one twice: a copy for each call would be 2 ** 40."""
    depth = 40
    types = "(tensor<4xf32>) -> tensor<4xf32>"
    lines = [
        "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {",
        "%y = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
        f"%0 = func.call @f0(%y) : {types}",
        f"%1 = t.softmax %x : {types}",
        f"%2 = func.call @f0(%1) : {types}",
        "return %0, %2 : tensor<4xf32>, tensor<4xf32>",
        "}",
    ]
    for index in range(depth):
        inner = f"func.call @f{index + 1}(" if index + 1 < depth else "t.relu "
        end = ")" if index + 1 < depth else ""
        lines += [
            f"func.func private @f{index}(%x: tensor<4xf32>) -> tensor<4xf32> {{",
            f"%0 = {inner}%x{end} : {types}",
            f"%1 = {inner}%0{end} : {types}",
            "return %1 : tensor<4xf32>",
            "}",
        ]
    tool = build_dir / "bin" / "amp-test-opt"
    flag = f"--amp-annotate-precision=policy={POLICY}"
    result = subprocess.run(
        [tool, flag], input="\n".join(lines), capture_output=True, check=True, text=True
    )
    text = (
        "is shared by all of its 16384 calls: to look at each alone, functions with more than "
        "100000 operations would have to be copied"
    )
    assert f"remark: {text}" in result.stderr
    functions = result.stdout.count("func.func ")
    assert depth + 1 < functions <= 2 * depth + 1
