"""Loss scaling as standard ONNX: PyTorch's GradScaler bit for bit, and what mode `safe` mends."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest
from loss_scaling import (
    GOLDEN,
    SCALER_OUTPUTS,
    SCALER_STATE,
    TRACES,
    Step,
    bits,
    load,
    lower,
    number,
    scaler_state,
    update_scale,
)

F32 = np.float32
OPSETS = (13, 18, 21)


def constant(name: str, value: float) -> str:
    """A scalar of float32."""
    return (
        f'%{name} = "onnx.Constant"() <{{value = #onnx.tensor<dense<{value!r}> : tensor<f32>> '
        f": tensor<f32>}}> : () -> tensor<f32>"
    )


def node(result: str, op: str, operands: str, kinds: str, kind: str) -> str:
    return f'%{result} = "onnx.{op}"({operands}) : ({kinds}) -> {kind}'


def binary(result: str, op: str, a: str, b: str, kind: str, b_kind: str = "tensor<f32>") -> str:
    return node(result, op, f"%{a}, %{b}", f"{kind}, {b_kind}", kind)


# ======================================================================================
# Traces of GradScaler
# ======================================================================================

INDEX = load("traces.json")


def trace_step(config: dict[str, Any]) -> onnx.ModelProto:
    """One step of SGD: gradients of the loss `sum(grad * p)`, in some of which `bad` stands."""
    vector = "tensor<4xf32>"
    body = [
        constant("one", 1.0),
        constant("lr", INDEX["lr"]),
        f'%true_gradient = "onnx.Constant"() <{{value = #onnx.tensor<dense<{INDEX["grad"]}> '
        f": {vector}> : {vector}}}> : () -> {vector}",
    ]
    enabled = config.get("enabled", True)
    if enabled:
        body += ["%seed = amp.scale %one by %scale : tensor<f32> to tensor<f32>"]
    body += [
        binary("clean", "Mul", "true_gradient", "seed" if enabled else "one", vector),
        node("g", "Where", "%is_bad, %bad, %clean", f"tensor<4xi1>, {vector}, {vector}", vector),
    ]
    update = [binary("d", "Mul", "u", "lr", vector), binary("q", "Sub", "p", "d", vector, vector)]
    inputs = {"p": vector, "is_bad": "tensor<4xi1>", "bad": vector}
    outputs = {"p_new": ("%p_new", vector)}
    if enabled:
        body += [
            f"%u, %found = amp.unscale torch %g by %scale : {vector} to {vector}",
            f"%p_new = amp.guard %found keeps %p : {vector} {{",
            *update,
            f"amp.yield %q : {vector} }}",
            update_scale(
                "%found", **{key: value for key, value in config.items() if key != "init_scale"}
            ),
        ]
        inputs |= SCALER_STATE
        outputs |= SCALER_OUTPUTS | {"found": ("%found", "tensor<i1>")}
    else:
        body += [line.replace("%u", "%g").replace("%q", "%p_new") for line in update]
    return lower(inputs, "\n".join(body), outputs)


CONFIGS = sorted({json.dumps(trace["cfg"]) for trace in INDEX["traces"]})


@pytest.fixture(scope="module")
def traces() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "traces.npz") as file:
        return dict(file)


def test_all_traces_are_replayed() -> None:
    assert len(INDEX["traces"]) == 267
    assert sum(trace["steps"] for trace in INDEX["traces"]) == 92660


@pytest.mark.parametrize("text", CONFIGS)
def test_traces(text: str, traces: dict[str, np.ndarray]) -> None:
    config = json.loads(text)
    enabled = config.get("enabled", True)
    start = {"p": np.zeros(4, F32)}
    if enabled:
        start |= scaler_state(config["init_scale"])
    step = Step(trace_step(config), start)
    bad_values = np.array([0, np.inf, -np.inf, np.nan], F32)
    for trace in INDEX["traces"]:
        if trace["cfg"] != config:
            continue
        step.state = dict(start)
        want = {
            key: traces[f"{trace['name']}/{key}"]
            for key in ("pattern", "scale", "tracker", "stepped", "found", "params")
        }
        got: dict[str, list[Any]] = {key: [] for key in want}
        for i, kind in enumerate(want["pattern"]):
            is_bad = np.zeros(4, bool)
            is_bad[i % 4] = kind != 0
            before = step.state["p"]
            found = step.run(is_bad=is_bad, bad=np.full(4, bad_values[kind]))
            if enabled:
                skipped = bool(found["found"])
                assert not skipped or bits(found["p_new"]) == bits(before)
                got["scale"].append(found["scale_new"])
                got["tracker"].append(found["tracker_new"])
                got["found"].append(F32(skipped))
                got["stepped"].append(np.uint8(not skipped))
            got["params"].append(found["p_new"])
        if not trace["params_all_steps"]:
            got["params"] = got["params"][-1:]
        checked = ("scale", "tracker", "stepped", "found", "params") if enabled else ("params",)
        for key in checked:
            assert bits(np.array(got[key])) == bits(want[key]), f"{trace['name']}: {key}"


# ======================================================================================
# The kernels of GradScaler
# ======================================================================================

UNSCALE = load("unscale.json")


@pytest.mark.parametrize("opset", OPSETS)
def test_unscale_rows(opset: int) -> None:
    body = "%u, %found = amp.unscale torch %g by %scale : tensor<1xf32> to tensor<1xf32>"
    outputs = {"u": ("%u", "tensor<1xf32>"), "found": ("%found", "tensor<i1>")}
    step = Step(lower({"g": "tensor<1xf32>", "scale": "tensor<f32>"}, body, outputs, opset), {})
    for row in UNSCALE["unscale"]:
        for before, after, found in row["in_out_found"]:
            gradient = np.array([number(before)]).astype(F32)
            result = step.run(g=gradient, scale=F32(number(row["scale"])))
            assert bits(result["u"]) == bits(np.array([number(after)]).astype(F32)), row["scale"]
            assert bool(result["found"]) == bool(found), (row["scale"], before)


@pytest.mark.parametrize("opset", OPSETS)
def test_update_rows(opset: int) -> None:
    # Every setting is one update in the graph: all see the same scales.
    settings = sorted({tuple(row[3:6]) for row in UNSCALE["update"]})
    body: list[str] = []
    outputs: dict[str, tuple[str, str]] = {}
    for i, (growth, backoff, interval) in enumerate(settings):
        update = update_scale(
            "%found",
            growth_factor=growth,
            backoff_factor=backoff,
            growth_interval=interval,
        )
        body.append(update.replace("_new", str(i)))
        outputs |= {f"scale{i}": (f"%scale{i}", "tensor<f32>")}
        outputs |= {f"tracker{i}": (f"%tracker{i}", "tensor<i32>")}
    inputs = SCALER_STATE | {"found": "tensor<i1>"}
    step = Step(lower(inputs, "\n".join(body), outputs, opset), {})
    results: dict[tuple[Any, ...], dict[str, np.ndarray]] = {}
    assert len(UNSCALE["update"]) == 972
    for scale, tracker, found, growth, backoff, interval, scale_out, tracker_out in UNSCALE[
        "update"
    ]:
        given = (scale, tracker, found)
        if given not in results:
            state = scaler_state(number(scale), tracker)
            results[given] = step.run(**state, found=np.bool_(found))
        i = settings.index((growth, backoff, interval))
        assert bits(results[given][f"scale{i}"]) == bits(F32(number(scale_out)))
        assert results[given][f"tracker{i}"] == tracker_out


def test_scale_rows() -> None:
    rows = load("scenarios.json")["scenarios"]["scale_output_dtype"]
    kinds = {"f16": "f32", "f32": "f32", "f64": "f64"}
    names = {"f16": "float16", "f32": "float32", "f64": "float64"}
    body = "\n".join(
        f"%s_{kind} = amp.scale %{kind} by %scale : tensor<{kind}> to tensor<{scaled}>"
        for kind, scaled in kinds.items()
    )
    outputs = {f"s_{kind}": (f"%s_{kind}", f"tensor<{kind2}>") for kind, kind2 in kinds.items()}
    inputs = {kind: f"tensor<{kind}>" for kind in kinds} | {"scale": "tensor<f32>"}
    feeds = {kind: np.array(rows["value"], names[kind]) for kind in kinds}
    result = Step(lower(inputs, body, outputs), {}).run(scale=F32(rows["scale"]), **feeds)
    for kind in kinds:
        want = rows["rows"][names[kind]]["zero_dim"]
        assert result[f"s_{kind}"] == want["value"]
        assert result[f"s_{kind}"].dtype == want["dtype"]


# ======================================================================================
# Scenarios of GradScaler
# ======================================================================================

SCENARIOS = load("scenarios.json")["scenarios"]


def scaler_options(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != "init_scale"}


def check_scaler(result: dict[str, np.ndarray], record: dict[str, Any]) -> None:
    assert bits(result["scale_new"]) == bits(F32(number(record["scale"])))
    assert result["tracker_new"] == record["growth_tracker"]


def floats(values: Any) -> np.ndarray:
    return np.array([number(value) for value in values]).astype(F32)


def test_two_optimizers_share_a_scale() -> None:
    scenario = SCENARIOS["two_optimizers_two_losses"]
    body = [constant("one", 1.0), "%seed = amp.scale %one by %scale : tensor<f32> to tensor<f32>"]
    inputs: dict[str, str] = {}
    outputs: dict[str, tuple[str, str]] = {}
    start: dict[str, np.ndarray] = {}
    for i, (init, lr) in enumerate(zip(scenario["init"], scenario["lr"], strict=True)):
        kind = f"tensor<{len(init)}xf32>"
        body += [
            constant(f"lr{i}", lr),
            binary(f"g{i}", "Mul", f"c{i}", "seed", kind),
            f"%u{i}, %found{i} = amp.unscale torch %g{i} by %scale : {kind} to {kind}",
            f"%p{i}_new = amp.guard %found{i} keeps %p{i} : {kind} {{",
            binary("d", "Mul", f"u{i}", f"lr{i}", kind),
            binary("q", "Sub", f"p{i}", "d", kind, kind),
            f"amp.yield %q : {kind} }}",
        ]
        inputs |= {f"p{i}": kind, f"c{i}": kind}
        outputs |= {
            f"p{i}_new": (f"%p{i}_new", kind),
            f"u{i}": (f"%u{i}", kind),
            f"found{i}": (f"%found{i}", "tensor<i1>"),
        }
        start[f"p{i}"] = floats(init)
    body.append(update_scale("%found0, %found1", **scaler_options(scenario["cfg"])))
    model = lower(inputs | SCALER_STATE, "\n".join(body), outputs | SCALER_OUTPUTS)
    step = Step(model, start | scaler_state(scenario["cfg"]["init_scale"]))
    for record in scenario["iterations"]:
        result = step.run(c0=floats(record["c0"]), c1=floats(record["c1"]))
        for i in range(2):
            assert bits(result[f"u{i}"]) == bits(floats(record["grads_after_step"][i]))
            assert bool(result[f"found{i}"]) == bool(record["found_inf"][i])
            assert bits(result[f"p{i}_new"]) == bits(floats(record["params"][i]))
        check_scaler(result, record)


def test_unscale_clip_step() -> None:
    scenario = SCENARIOS["unscale_clip_step"]
    kind = "tensor<4xf32>"
    body = [
        constant("one", 1.0),
        constant("lr", scenario["lr"]),
        "%seed = amp.scale %one by %scale : tensor<f32> to tensor<f32>",
        binary("g", "Mul", "c", "seed", kind),
        f"%u, %found = amp.unscale torch %g by %scale : {kind} to {kind}",
        f"%k, %norm = amp.clip_grad_norm %u to {scenario['max_norm']} "
        f"{{epsilon = {scenario['clip_eps']:.1e} : f64}} : {kind}",
        f"%p_new = amp.guard %found keeps %p : {kind} {{",
        binary("d", "Mul", "k", "lr", kind),
        binary("q", "Sub", "p", "d", kind, kind),
        f"amp.yield %q : {kind} }}",
        update_scale("%found", **scaler_options(scenario["cfg"])),
    ]
    outputs = {name: (f"%{name}", kind) for name in ("p_new", "u", "k")}
    outputs |= {"norm": ("%norm", "tensor<f32>"), "found": ("%found", "tensor<i1>")}
    model = lower({"p": kind, "c": kind} | SCALER_STATE, "\n".join(body), outputs | SCALER_OUTPUTS)
    start = {"p": floats(scenario["init"])}
    step = Step(model, start | scaler_state(scenario["cfg"]["init_scale"]))
    for record in scenario["iterations"]:
        result = step.run(c=floats(record["c"]))
        assert bits(result["u"]) == bits(floats(record["grad_unscaled"]))
        assert bits(result["norm"]) == bits(F32(number(record["total_norm"])))
        assert bits(result["k"]) == bits(floats(record["grad_clipped"]))
        assert bool(result["found"]) == bool(record["found_inf"])
        assert bits(result["p_new"]) == bits(floats(record["params"][0]))
        check_scaler(result, record)


def test_accumulation() -> None:
    scenario = SCENARIOS["accumulate_4"]
    kind = "tensor<3xf32>"
    body = [
        constant("quarter", 0.25),
        constant("lr", scenario["lr"]),
        "%seed = amp.scale %quarter by %scale : tensor<f32> to tensor<f32>",
        *[binary(f"g{i}", "Mul", f"c{i}", "seed", kind) for i in range(4)],
        binary("a1", "Add", "g0", "g1", kind, kind),
        binary("a2", "Add", "a1", "g2", kind, kind),
        binary("a3", "Add", "a2", "g3", kind, kind),
        f"%u, %found = amp.unscale torch %a3 by %scale : {kind} to {kind}",
        f"%p_new = amp.guard %found keeps %p : {kind} {{",
        binary("d", "Mul", "u", "lr", kind),
        binary("q", "Sub", "p", "d", kind, kind),
        f"amp.yield %q : {kind} }}",
        update_scale("%found", **scaler_options(scenario["cfg"])),
    ]
    inputs = {"p": kind} | {f"c{i}": kind for i in range(4)} | SCALER_STATE
    outputs = {name: (f"%{name}", kind) for name in ("p_new", "u", "a3")}
    outputs |= {"found": ("%found", "tensor<i1>")} | SCALER_OUTPUTS
    start = {"p": floats(scenario["init"])} | scaler_state(scenario["cfg"]["init_scale"])
    step = Step(lower(inputs, "\n".join(body), outputs), start)
    for record in scenario["iterations"]:
        micro = {f"c{i}": floats(batch["c"]) for i, batch in enumerate(record["micro"])}
        result = step.run(**micro)
        assert bits(result["a3"]) == bits(floats(record["micro"][-1]["grad_acc"]))
        assert bits(result["u"]) == bits(floats(record["grad_after_step"]))
        assert bool(result["found"]) == bool(record["found_inf"])
        assert bits(result["p_new"]) == bits(floats(record["params"][0]))
        check_scaler(result, record)


def test_state_on_skipped_steps() -> None:
    """An optimizer's state and its count of steps stay, whatever bits they are."""
    scenario = SCENARIOS["optimizer_state_on_skip"]
    kind, count = "tensor<2xf32>", "tensor<i64>"
    body = [
        constant("one", 1.0),
        constant("momentum", 0.9),
        constant("lr", scenario["lr"]),
        '%next = "onnx.Constant"() <{value = #onnx.tensor<dense<1> : tensor<i64>> : tensor<i64>}>'
        " : () -> tensor<i64>",
        "%seed = amp.scale %one by %scale : tensor<f32> to tensor<f32>",
        binary("g", "Mul", "c", "seed", kind),
        f"%u, %found = amp.unscale torch %g by %scale : {kind} to {kind}",
        f"%p_new, %m_new, %steps_new = amp.guard %found keeps %p, %m, %steps "
        f": {kind}, {kind}, {count} {{",
        binary("n", "Mul", "m", "momentum", kind),
        binary("n1", "Add", "n", "u", kind, kind),
        binary("d", "Mul", "n1", "lr", kind),
        binary("q", "Sub", "p", "d", kind, kind),
        binary("s", "Add", "steps", "next", count, count),
        f"amp.yield %q, %n1, %s : {kind}, {kind}, {count} }}",
        update_scale("%found", growth_interval=scenario["cfg"]["growth_interval"]),
    ]
    inputs = {"p": kind, "m": kind, "steps": count, "c": kind} | SCALER_STATE
    outputs = {"p_new": ("%p_new", kind), "m_new": ("%m_new", kind)}
    outputs |= {"steps_new": ("%steps_new", count)} | SCALER_OUTPUTS
    start = {"p": floats([1, 2]), "m": floats([0, 0]), "steps": np.int64(0)}
    step = Step(
        lower(inputs, "\n".join(body), outputs), start | scaler_state(scenario["cfg"]["init_scale"])
    )
    adam = scenario["runs"]["Adam_fused=False"]
    for i, record in enumerate(scenario["runs"]["SGD_fused=False"]):
        before = dict(step.state)
        gradient = floats(scenario["grad"])
        if i in scenario["bad_steps"]:
            gradient[1] = np.inf
        result = step.run(c=gradient)
        changed = {name: bits(result[f"{name}_new"]) != bits(before[name]) for name in start}
        assert changed == dict.fromkeys(start, record["changed"])
        assert bits(result["scale_new"]) == bits(F32(record["scale"]))
        assert result["tracker_new"] == record["tracker"]
        assert result["steps_new"] == (adam[i]["opt_step"] or 0)
        np.testing.assert_allclose(result["p_new"], floats(record["params"]), rtol=1e-6)


def test_guarded_state_keeps_its_bits() -> None:
    kinds = {"a": ("f32", np.uint32), "b": ("f16", np.uint16), "c": ("i64", np.int64)}
    types = ", ".join(f"tensor<3x{kind}>" for kind, _ in kinds.values())
    body = f"""
      %r:3 = amp.guard %found keeps %a, %b, %c : {types} {{
        amp.yield %d, %b, %c : {types}
      }}"""
    inputs = {name: f"tensor<3x{kind}>" for name, (kind, _) in kinds.items()}
    outputs = {f"{name}_new": (f"%r#{i}", inputs[name]) for i, name in enumerate(kinds)}
    inputs |= {"d": "tensor<3xf32>", "found": "tensor<i1>"}
    state: dict[str, np.ndarray] = {
        # A signalling NaN with a payload, the smallest number, a negative zero.
        "a": np.array([0xFFA12345, 1, 1 << 31], np.uint32).view(np.float32),
        "b": np.array([0x7D01, 1, 1 << 15], np.uint16).view(np.float16),
        "c": np.array([-1, 0, 1 << 62], np.int64),
    }
    step = Step(lower(inputs, body, outputs), state)
    other = floats([1, 2, 3])
    skipped = step.run(d=other, found=np.True_)
    for name, value in state.items():
        assert skipped[f"{name}_new"].tobytes() == value.tobytes()
    assert step.run(d=other, found=np.False_)["a_new"].tobytes() == other.tobytes()


# ======================================================================================
# Public faults of scalers
# ======================================================================================

FAULTS = json.loads(TRACES.read_text())["traces"]


def fault_step(config: dict[str, Any], micro: int, size: int, same: bool) -> onnx.ModelProto:
    """One step on true gradients `a0`, `a1`…, which backward passes deliver scaled, in float16."""
    kind, low = f"tensor<{size}xf32>", f"tensor<{size}xf16>"
    inputs = {f"a{i}": kind for i in range(micro)} | SCALER_STATE
    body, mode = [constant("one", 1.0)], "torch" if same else "safe"
    if micro:
        body.append("%seed = amp.scale %one by %scale : tensor<f32> to tensor<f32>")
        for i in range(micro):
            body += [
                binary(f"w{i}", "Mul", f"a{i}", "seed", kind),
                f"%g{i} = amp.cast %w{i} : {kind} to {low}",
            ]
        total, total_kind = "g0", low
        if micro > 1:  # accumulated in float32
            body += [f"%h{i} = amp.cast %g{i} : {low} to {kind}" for i in range(micro)]
            total, total_kind = "h0", kind
            for i in range(1, micro):
                body.append(binary(f"t{i}", "Add", total, f"h{i}", kind, kind))
                total = f"t{i}"
        body.append(f"%u, %found = amp.unscale {mode} %{total} by %scale : {total_kind} to {kind}")
    outputs = dict(SCALER_OUTPUTS)
    if micro:
        gradient = "u"
        if "clip" in config:
            body.append(f"%k, %norm = amp.clip_grad_norm %u to {config['clip']} : {kind}")
            gradient = "k"
        outputs |= {"u": (f"%{gradient}", kind), "found": ("%found", "tensor<i1>")}
    update = update_scale(
        "%found" if micro else "",
        mode,
        growth_interval=config.get("interval", 2000),
        min_scale=config.get("min"),
    )
    body.append(update if micro else update.replace("after ", ""))
    return lower(inputs, "\n".join(body), outputs)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["name"])
def test_public_faults(fault: dict[str, Any]) -> None:
    config = fault["config"]
    enabled = config.get("enabled", True)
    state = scaler_state(config.get("init", 65536.0))
    steps: dict[tuple[int, int], Step] = {}
    for given, want in zip(fault["steps"], fault["expect"], strict=True):
        micro = [floats(batch) for batch in given["A"]]
        if not enabled:  # no operation of the scaler is there
            assert want["scale_used"] == want["scale_after"] == 1
            assert bits(micro[0]) == bits(floats(want["grad"]["A"]))
            continue
        assert state["scale"] == want["scale_used"]
        key = len(micro), len(micro[0]) if micro else 0
        if key not in steps:
            steps[key] = Step(fault_step(config, *key, fault["torch_same"]), state)
        steps[key].state = dict(state)
        result = steps[key].run(**{f"a{i}": batch for i, batch in enumerate(micro)})
        stepped = bool(micro) and not result["found"]
        assert stepped == want["stepped"]["A"]
        if stepped:
            assert bits(result["u"]) == bits(floats(want["grad"]["A"]))
        state = steps[key].state
        assert state["scale"] == want["scale_after"]
        assert state["tracker"] == want["good_after"]


# ======================================================================================
# Mode safe
# ======================================================================================


@pytest.fixture(scope="module")
def unscale() -> dict[str, Step]:
    """By mode, of three tensors."""
    kinds = ("tensor<?xf32>", "tensor<2x3xf16>", "tensor<f32>")
    wide = ", ".join(kind.replace("f16", "f32") for kind in kinds)
    inputs = {f"g{i}": kind for i, kind in enumerate(kinds)} | {"scale": "tensor<f32>"}
    outputs = {f"u{i}": (f"%u#{i}", kind.replace("f16", "f32")) for i, kind in enumerate(kinds)}
    outputs |= {"found": ("%found", "tensor<i1>")}
    return {
        mode: Step(
            lower(
                inputs,
                f"%u:3, %found = amp.unscale {mode} %g0, %g1, %g2 by %scale "
                f": {', '.join(kinds)} to {wide}",
                outputs,
            ),
            {},
        )
        for mode in ("torch", "safe")
    }


def run_unscale(step: Step, vector: Any, scale: float, scalar: float = 0.0) -> dict[str, Any]:
    half = np.full((2, 3), 65504, np.float16)
    return step.run(g0=floats(vector), g1=half, g2=F32(scalar), scale=F32(scale))


def test_products_that_overflow_are_found(unscale: dict[str, Step]) -> None:
    # torch steps, to parameters of -inf.
    assert not run_unscale(unscale["torch"], [3e35], 2.0**-20)["found"]
    result = run_unscale(unscale["safe"], [3e35], 2.0**-20)
    assert result["found"]
    assert result["u0"] == np.inf


@pytest.mark.parametrize("mode", ["torch", "safe"])
def test_finite_gradients_with_an_infinite_sum(unscale: dict[str, Step], mode: str) -> None:
    assert not run_unscale(unscale[mode], [3.4e38, -3.4e38] * 500, 1.0, 3.4e38)["found"]
    assert run_unscale(unscale[mode], [3.4e38, -3.4e38] * 500, 1.0, np.nan)["found"]


@pytest.mark.parametrize("mode", ["torch", "safe"])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_one_bad_element_is_found(unscale: dict[str, Step], mode: str, bad: float) -> None:
    for size in (1, 7, 1000):
        for position in {0, size // 2, size - 1}:
            vector = np.ones(size, F32)
            assert not run_unscale(unscale[mode], vector, 1024.0)["found"]
            vector[position] = bad
            assert run_unscale(unscale[mode], vector, 1024.0)["found"]


def test_gradients_without_elements(unscale: dict[str, Step]) -> None:
    assert not run_unscale(unscale["safe"], [], 1024.0)["found"]
    assert run_unscale(unscale["safe"], [], 1024.0, np.inf)["found"]


def test_the_inverse_is_that_of_float64() -> None:
    body = "%u, %found = amp.unscale torch %g by %scale : tensor<f32> to tensor<f32>"
    inputs = {"g": "tensor<f32>", "scale": "tensor<f32>"}
    step = Step(lower(inputs, body, {"u": ("%u", "tensor<f32>")}), {})
    random = np.random.default_rng(5)
    numbers = random.integers(1, 0x7F800000, 3000, np.uint32).view(np.float32)
    for scale in numbers:
        with np.errstate(over="ignore"):
            want = F32(1.0 / np.float64(scale))
        assert bits(step.run(g=F32(1), scale=scale)["u"]) == bits(want), scale


@pytest.mark.parametrize("factors", [(2.0, 0.5), (1.1, 0.7)])
@pytest.mark.parametrize("bounds", [(None, None), (2.0**-3, 3000.0)])
def test_safe_updates(
    factors: tuple[float, float], bounds: tuple[float | None, float | None]
) -> None:
    growth, backoff = factors
    low, high = F32(bounds[0] or 2.0**-24), F32(bounds[1] or 2.0**24)
    body = update_scale(
        "%found",
        "safe",
        growth_factor=growth,
        backoff_factor=backoff,
        growth_interval=3,
        min_scale=bounds[0],
        max_scale=bounds[1],
    )
    inputs = SCALER_STATE | {"found": "tensor<i1>"}
    step = Step(lower(inputs, body, SCALER_OUTPUTS), scaler_state(1024.0))
    random = np.random.default_rng(7)
    for start in (1024.0, 0.0, np.inf, np.nan, 3e38, 1e-45):
        # A tracker beyond an interval that was lowered reaches it all the same.
        step.state = scaler_state(start, tracker=17)
        for found in random.random(300) < random.choice([0.02, 0.3, 0.7], 300):
            scale, tracker = F32(step.state["scale"]), int(step.state["tracker"])
            step.run(found=np.bool_(found))
            grows = not found and tracker + 1 >= 3
            if found or grows:
                with np.errstate(all="ignore"):
                    scale = F32(np.float64(scale) * (backoff if found else growth))
                scale = scale if scale >= low else low
                scale = scale if scale <= high else high
                assert low <= scale <= high
            assert bits(step.state["scale"]) == bits(scale)
            assert step.state["tracker"] == (0 if found or grows else tracker + 1)


def test_160_overflows_leave_a_scale() -> None:
    inputs = SCALER_STATE | {"found": "tensor<i1>"}
    for mode, least in (("torch", 0.0), ("safe", 2.0**-24)):
        model = lower(inputs, update_scale("%found", mode), SCALER_OUTPUTS)
        step = Step(model, scaler_state(65536.0))
        for _ in range(170):
            step.run(found=np.True_)
        assert step.state["scale"] == least


# ======================================================================================
# Clipping
# ======================================================================================


def test_clip_norm_of_many() -> None:
    shapes = [(3, 5), (7,), (), (1, 1, 4)]
    kinds = [f"tensor<{''.join(f'{size}x' for size in shape)}f32>" for shape in shapes]
    names = [f"g{i}" for i in range(len(shapes))]
    operands = ", ".join(f"%{name}" for name in names)
    body = f"%k:{len(shapes)}, %norm = amp.clip_grad_norm {operands} to 2.5 : {', '.join(kinds)}"
    outputs = {f"k{i}": (f"%k#{i}", kind) for i, kind in enumerate(kinds)}
    outputs |= {"norm": ("%norm", "tensor<f32>")}
    step = Step(lower(dict(zip(names, kinds, strict=True)), body, outputs), {})
    random = np.random.default_rng(3)
    for size in (0.01, 1.0, 100.0):
        arrays = [np.asarray(random.normal(0, size, shape)).astype(F32) for shape in shapes]
        result = step.run(**dict(zip(names, arrays, strict=True)))
        norm = np.sqrt(sum((array.astype(np.float64) ** 2).sum() for array in arrays))
        np.testing.assert_allclose(result["norm"], norm, rtol=1e-6)
        factor = min(1.0, 2.5 / (norm + 1e-6))
        for i, array in enumerate(arrays):
            np.testing.assert_allclose(result[f"k{i}"], array * factor, rtol=1e-6)
            if factor == 1:
                assert bits(result[f"k{i}"]) == bits(array)


# ======================================================================================
# Other runtimes
# ======================================================================================


@pytest.mark.parametrize("mode", ["torch", "safe"])
def test_the_reference_evaluator_agrees(mode: str) -> None:
    from onnx.reference import ReferenceEvaluator

    kind = "tensor<3xf32>"
    body = f"""
      %u, %found = amp.unscale {mode} %g by %scale : {kind} to {kind}
      %k, %norm = amp.clip_grad_norm %u to 1.0 : {kind}
      %p_new = amp.guard %found keeps %p : {kind} {{
        {binary("q", "Sub", "p", "k", kind, kind)}
        amp.yield %q : {kind}
      }}
      {update_scale("%found", mode, growth_factor=1.1, growth_interval=2)}"""
    outputs = {name: (f"%{name}", kind) for name in ("p_new", "u")}
    outputs |= {"found": ("%found", "tensor<i1>")} | SCALER_OUTPUTS
    model = lower({"g": kind, "p": kind} | SCALER_STATE, body, outputs)
    step = Step(model, scaler_state(98304.0) | {"p": floats([1, 2, 3])})
    reference = ReferenceEvaluator(model)
    for gradient in ([3, 4, 0], [np.inf, 0, 0], [65504, 1, 2], [3e38, 3e38, 3e38], [0, np.nan, 0]):
        feeds = {**step.state, "g": floats(gradient)}
        with np.errstate(all="ignore"):
            want = dict(zip(step.outputs, reference.run(None, feeds), strict=True))
        result = step.run(g=feeds["g"])
        for name in ("u", "found", "scale_new", "tracker_new"):
            assert bits(result[name]) == bits(want[name]), name
        np.testing.assert_allclose(result["p_new"], want["p_new"], rtol=1e-6)
