"""Local functions: decided call by call, copied where calls disagree, one where they agree."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
import onnx.parser
import pytest
from random_functions import SIZE, generate
from running import checker_problem, relative_error, run_in_onnxruntime, run_strictly
from tool import Tool, is_full, onnx_amp

# One call gives to a matrix product what another one gave, another call stays in float32.
MODEL = """
<ir_version: {ir_version}, opset_import: ["" : 20, "local" : 1]>
main (float[4, 4] x) => (float[4, 4] y, float[4, 4] z)
{{
    [product] a = MatMul (x, x)
    [low] b = local.f (a)
    [next] c = MatMul (b, b)
    [again] d = local.f (c)
    [last] y = MatMul (d, d)
    [soft] e = Softmax (x)
    [exact] g = local.f (e)
    [end] z = Softmax (g)
}}
<domain: "local", opset_import: ["" : 20, "local" : 1]>
f (i) => (o) {{ [inner] o = local.h (i) }}
<domain: "local", opset_import: ["" : 20]>
h (i) => (o) {{ [relu] o = Relu (i) }}
"""

PRODUCT = """
<ir_version: 10, opset_import: ["" : 20, "local" : 1]>
main (float[4, 4] x) => (float[4, 4] y, float[4, 4] z)
{
    [first] a = local.outer (x)
    [second] b = local.outer (x)
    y = Relu (a)
    z = Relu (b)
}
<domain: "local", opset_import: ["" : 20, "local" : 1]>
outer (i) => (o) { [inner] o = local.product (i) }
<domain: "local", opset_import: ["" : 20]>
product (i) => (o) { [matmul] o = MatMul (i, i) }
"""


@pytest.fixture
def amp() -> Tool:
    return onnx_amp()


def save(tmp_path: Path, model: str | onnx.ModelProto) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(model) if isinstance(model, str) else model, path)
    return path


def convert(amp: Tool, model: Path, *options: str | Path) -> Path:
    """Converts twice, which gives the same, and what that gives once more, which changes nothing."""
    out, same, again = (model.with_name(name) for name in ("out.onnx", "same.onnx", "again.onnx"))
    for source, target in ((model, out), (model, same), (out, again)):
        amp.run("convert", "--quiet", *options, source, "-o", target).expect_success()
        assert target.read_bytes() == out.read_bytes(), target.name
    return out


def convert_and_check(amp: Tool, model: Path, *options: str | Path) -> Path:
    """The same; onnx.checker agrees with the result."""
    out = convert(amp, model, *options)
    assert checker_problem(out) is None
    return out


def identities(model: onnx.ModelProto) -> list[tuple[str, str]]:
    return [(function.name, function.overload) for function in model.functions]


def callees(nodes: list[onnx.NodeProto]) -> dict[str, tuple[str, str]]:
    """What each node that is a call calls, by the name of the node."""
    return {node.name: (node.op_type, node.overload) for node in nodes if node.domain == "local"}


def feeds() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {name: generator.standard_normal((SIZE, SIZE)).astype(np.float32) for name in "xy"}


@pytest.mark.parametrize("placement", ["eager", "optimal"])
@pytest.mark.parametrize("ir_version", [8, 10])
def test_calls_that_disagree_get_copies(
    amp: Tool, tmp_path: Path, placement: str, ir_version: int
) -> None:
    path = save(tmp_path, MODEL.format(ir_version=ir_version))
    out = convert_and_check(amp, path, "--placement", placement)
    model = onnx.load(out)
    copies = [("f_amp1", ""), ("h_amp1", "")]
    assert identities(model) == [("f", ""), copies[0], ("h", ""), copies[1]]
    assert callees(model.graph.node) == {"low": ("f", ""), "again": ("f", ""), "exact": copies[0]}
    assert callees(model.functions[0].node) == {"inner": ("h", "")}
    assert callees(model.functions[1].node) == {"inner": copies[1]}
    assert not any(node.op_type == "Cast" for function in model.functions for node in function.node)
    assert (
        relative_error(run_in_onnxruntime(path, feeds()), run_in_onnxruntime(out, feeds())) < 1e-2
    )


def test_names_of_copies_are_free(amp: Tool, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MODEL.format(ir_version=8))
    taken = model.functions.add()
    taken.CopyFrom(model.functions[1])
    taken.name = "f_amp1"
    model.graph.node.append(onnx.helper.make_node("h_amp1", ["x"], [], domain="local"))
    path = save(tmp_path, model)
    out = onnx.load(convert_and_check(amp, path))
    assert identities(out) == [("f", ""), ("f_amp2", ""), ("h", ""), ("h_amp2", ""), ("f_amp1", "")]


def test_overloads_are_copied(amp: Tool, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MODEL.format(ir_version=10))
    model.functions[1].overload = model.functions[0].node[0].overload = "mine"
    out = onnx.load(convert_and_check(amp, save(tmp_path, model)))
    names = [("f", ""), ("f_amp1", ""), ("h", "mine"), ("h_amp1", "mine")]
    assert identities(out) == names
    assert callees(out.functions[1].node) == {"inner": ("h_amp1", "mine")}


def test_calls_that_agree_share_the_function(amp: Tool, tmp_path: Path) -> None:
    out = convert_and_check(amp, save(tmp_path, PRODUCT))
    assert identities(onnx.load(out)) == [("outer", ""), ("product", "")]


@pytest.mark.parametrize("placement", ["eager", "optimal"])
@pytest.mark.parametrize(
    ("scope", "ir_version"),
    [("first", 8), ("first", 10), ("module.layer", 10), ("local::outer", 8), ("local::outer", 10)],
)
def test_rules_reach_what_is_called(
    amp: Tool, tmp_path: Path, placement: str, scope: str, ir_version: int
) -> None:
    model = onnx.parser.parse_model(PRODUCT)
    model.ir_version = ir_version
    if ir_version >= 10:
        model.graph.node[0].metadata_props.add(
            key="namespace", value=": Model/module.layer: pkg.Layer/op: aten.op"
        )
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"extends: inference\nrules: [{{scopes: '{scope}', category: deny}}]\n")
    out = onnx.load(
        convert_and_check(amp, save(tmp_path, model), "--placement", placement, "--policy", policy)
    )
    casts = [sum(node.op_type == "Cast" for node in function.node) for function in out.functions]
    if scope == "local::outer":
        # Both calls are part of it, and agree.
        assert identities(out) == [("outer", ""), ("product", "")]
        assert casts == [0, 0]
        return
    copies = [("outer_amp1", ""), ("product_amp1", "")]
    assert identities(out) == [("outer", ""), copies[0], ("product", ""), copies[1]]
    assert callees(out.graph.node) == {"first": ("outer", ""), "second": copies[0]}
    assert casts[2] == 0
    assert sum(casts) + sum(node.op_type == "Cast" for node in out.graph.node) > 0


def test_copies_are_reported(amp: Tool, tmp_path: Path) -> None:
    path = save(tmp_path, MODEL.format(ir_version=10))
    out = path.with_name("out.onnx")
    text = amp.run("convert", path, "-o", out).expect_success().stdout.decode()
    assert "  nodes     12: " in text
    assert "  functions 2 copied, with 2 nodes\n" in text
    report = json.loads(amp.run("convert", "--json", path, "-o", out).expect_success().stdout)
    assert report["copied_functions"] == 2
    assert report["nodes"]["total"] == 12


def test_growth_is_bounded(amp: Tool, tmp_path: Path) -> None:
    """Thirty functions, each of which calls the next one twice."""
    model = onnx.parser.parse_model(MODEL.format(ir_version=10))
    (last,) = model.functions[1:]
    del model.functions[1:]
    del model.functions[0].node[:]
    names = ["f", *(f"g{index}" for index in range(30)), "h"]
    for caller, callee in itertools.pairwise(names):
        function = onnx.FunctionProto()
        function.CopyFrom(model.functions[0])
        function.name = caller
        for source, target in (("i", "m"), ("m", "o")):
            function.node.append(onnx.helper.make_node(callee, [source], [target], domain="local"))
        model.functions.append(function)
    del model.functions[0]
    model.functions.append(last)
    # onnx.checker would look at 2 ** 31 calls.
    out = onnx.load(convert(amp, save(tmp_path, model), "--placement", "eager"))
    assert len(model.functions) < len(out.functions) <= 2 * len(model.functions)


@pytest.mark.parametrize("placement", ["eager", "optimal"])
@pytest.mark.parametrize("interface", [(), ("--no-keep-io-types",)])
def test_random_models(
    amp: Tool,
    tmp_path: Path,
    placement: str,
    interface: tuple[str, ...],
    pytestconfig: pytest.Config,
) -> None:
    """ONNX Runtime puts functions with subgraphs in line wrongly: these are put in line, and run, elsewhere."""
    copied = 0
    for seed in range(300 if is_full(pytestconfig) else 12):
        regions = seed % 2 == 0
        model = generate(seed, regions)
        path = save(tmp_path, model)
        assert checker_problem(path) is None, seed
        out = convert_and_check(amp, path, "--placement", placement, *interface)
        copied += len(onnx.load(out).functions) > len(model.functions)
        values = feeds()
        low = {name: value.astype(np.float16) for name, value in values.items()}
        if regions:
            inlined = [onnx.inliner.inline_local_functions(onnx.load(p)) for p in (path, out)]
            for one in inlined:
                onnx.checker.check_model(one, full_check=True)
            wanted, _ = run_strictly(inlined[0], values)
            got, _ = run_strictly(inlined[1], low if interface else values)
        else:
            wanted = run_in_onnxruntime(path, values)
            got = run_in_onnxruntime(out, low if interface else values)
        # What float16 has no normal numbers for, it cannot have to a tolerance.
        for name in [n for n, v in wanted.items() if np.abs(v).max() < np.finfo(np.float16).tiny]:
            assert np.abs(got[name]).max() < 2 * np.finfo(np.float16).tiny, seed
            del wanted[name]
        assert relative_error(wanted, got) < 5e-2, seed
    assert copied
