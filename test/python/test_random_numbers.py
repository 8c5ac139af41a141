"""Random numbers of training steps: Philox4x32-10, the masks of Dropout, rounding at random."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from philox import draws, philox
from stateful import run_passes
from step_run import Run, with_float32_state

#: kat_vectors of the Random123 distribution, philox4x32 10: counter, key, result.
KNOWN_ANSWERS = [
    (
        "00000000 00000000 00000000 00000000",
        "00000000 00000000",
        "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    ),
    (
        "ffffffff ffffffff ffffffff ffffffff",
        "ffffffff ffffffff",
        "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ),
    (
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


@pytest.mark.parametrize("counter, key, expected", KNOWN_ANSWERS)
def test_known_answers(counter: str, key: str, expected: str) -> None:
    words = [np.array([int(word, 16)]) for word in counter.split()]
    first, second = (int(word, 16) for word in key.split())
    found = philox(words, (first, second))
    assert " ".join(f"{int(word[0]):08x}" for word in found) == expected


def dropout_model(shape: str, ratios: list[float]) -> onnx.ModelProto:
    """Masks m0, m1, … of one input."""
    nodes = "".join(
        f"r{i} = Constant <value_float = {ratio}> () y{i}, m{i} = Dropout (x, r{i})\n"
        for i, ratio in enumerate(ratios)
    )
    dims = f"[{shape}]" if shape else ""
    outputs = ", ".join(f"float{dims} y{i}, bool{dims} m{i}" for i in range(len(ratios)))
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 18]> g (float{dims} x) => ({outputs}) {{ {nodes} }}'
    )


@pytest.mark.parametrize(
    "shape, sizes",
    [("3,5", [(3, 5)]), ("N,M", [(1, 1), (7, 9), (0, 4), (64, 64)]), ("", [()]), ("16", [(16,)])],
)
def test_masks_are_philox(shape: str, sizes: list[tuple[int, ...]]) -> None:
    """Bit for bit, of shapes that are known and not, beyond 32 bits of seed and step."""
    ratios = [0.5, 0.1, 0.99, 1.0]
    step = run_passes(dropout_model(shape, ratios), "--onnx-infer-types", "--amp-training-form")
    for seed, number in [(0, 0), (2**64 - 1, 2**64 - 1), (0x123456789ABC, 2**33 + 5)]:
        for size in sizes:
            run = Run(step, **{"amp.seed": seed, "amp.random_step": number})
            found = run.run({"x": np.ones(size, np.float32)})
            for i, ratio in enumerate(ratios):
                drawn = draws(int(np.prod(size)), seed, number, i).reshape(size)
                mask = drawn < round((1 - ratio) * 65536)
                np.testing.assert_array_equal(found[f"m{i}"], mask)
                kept = 1 - float(np.float32(ratio))
                scale = np.float32(1 / kept if kept else 0)
                np.testing.assert_array_equal(found[f"y{i}"], np.where(mask, scale, np.float32(0)))
            assert run.state["amp.seed"] == seed
            assert run.state["amp.random_step"] == (number + 1) % 2**64


def test_masks_are_independent() -> None:
    """Of nodes, steps, seeds and neighbours: correlations as of fair coins."""
    shape = (256, 256)
    count = 256 * 256
    step = run_passes(dropout_model("256,256", [0.5, 0.5, 0.5]), "--amp-training-form=seed=1")
    x = {"x": np.ones(shape, np.float32)}
    runs = [Run(step), Run(step, **{"amp.seed": 2})]
    signs = []
    for run in runs:
        for _ in range(3):
            found = run.run(x)
            signs += [np.where(found[f"m{i}"], 1.0, -1.0).ravel() for i in range(3)]
    table = np.array(signs)
    # Sums of coins are normal; 6 standard deviations are never seen of so few.
    bound = 6 * count**0.5
    assert np.abs(table.sum(axis=1)).max() < bound
    products = table @ table.T - count * np.eye(len(table))
    assert np.abs(products).max() < bound
    for lag in (1, 2, 8, 256, 8192):
        assert np.abs((table[:, lag:] * table[:, :-lag]).sum(axis=1)).max() < bound


def test_draws_are_uniform() -> None:
    """Chi-squared of the 65536 values, of which a million draws have 16 each."""
    count = 2**20
    for stream in (0, 1, 0x80000000):
        hits = np.bincount(draws(count, 42, 7, stream), minlength=65536)
        chi_squared = ((hits - 16.0) ** 2 / 16).sum()
        assert abs(chi_squared - 65535) < 6 * (2 * 65535) ** 0.5


# Rounding ---------------------------------------------------------------------------------------


def round_by_bits(value: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """What roundStochastically() says, by the bits of finite float32 that have finite neighbours."""
    bits = value.view(np.uint32).astype(np.int64)
    rest, down = bits & 0xFFFF, bits >> 16
    is_up_nearer = (rest > 0x8000) | ((rest == 0x8000) & (down & 1 == 1))
    goes_up = np.where(is_up_nearer, drawn >= 65536 - rest, drawn < rest)
    rounded = (down + goes_up).astype(np.uint32) << np.uint32(16)
    return rounded.view(np.float32)


def test_expected_value_is_the_value() -> None:
    """Exactly: of the 65536 draws as many go up as float32 lie between it and the lower one."""
    rests = np.array([0, 1, 2, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x1234], np.uint32)
    tops = np.array([0x0000, 0x0001, 0x007F, 0x0080, 0x3F80, 0x3FFF, 0x7F7E, 0xBF81], np.uint32)
    every = np.arange(65536)
    for value in (tops[:, None] << np.uint32(16) | rests).ravel():
        rounded = round_by_bits(np.full(65536, value).view(np.float32), every)
        wide = rounded.astype(np.float64)
        assert wide.mean() == np.float64(np.uint32(value).view(np.float32))


def rounding_step(count: int) -> onnx.ModelProto:
    """A step whose state `w` becomes its input `x`."""
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[{count}] x, float[{count}] w) => (float[{count}] w_next)
        {{ z = Sub (w, w) w_next = Add (x, z) }}"""
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(count, np.float32), "w"))
    helper.set_model_props(model, {"amp.state": '[{"input":"w","output":"w_next"}]'})
    step = run_passes(model, "--onnx-infer-types", "--amp-stochastic-rounding=states=w seed=3")
    types = {
        value.name: value.type.tensor_type.elem_type
        for value in [*step.graph.input, *step.graph.output]
    }
    assert types["w"] == types["w_next"] == onnx.TensorProto.BFLOAT16
    return with_float32_state(step)


def test_rounding_is_by_the_draws() -> None:
    """Bit for bit, of all kinds of numbers: signs, subnormal ones, powers of two."""
    random = np.random.default_rng(5)
    bits = random.integers(0, 2**32, 200_000, dtype=np.uint32)
    tops = np.arange(0, 65536, 7, dtype=np.uint32) << np.uint32(16)
    edges = [tops | np.uint32(rest) for rest in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]
    values = np.concatenate([bits, *edges]).view(np.float32)
    # Beyond, the upper neighbour is infinite.
    values = values[np.abs(values) < float.fromhex("0x1.fep127")]
    run = Run(rounding_step(len(values)))
    for number in range(2):
        found = run.run({"x": values})["w_next"]
        drawn = draws(len(values), 3, number, 0x80000000)
        # Zeros are equal: ONNX Runtime's Where gives -0 as 0.
        np.testing.assert_array_equal(found, round_by_bits(values, drawn))


def test_special_values_stay() -> None:
    largest = float.fromhex("0x1.fep127")
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, largest, -largest, 2.0**-133, 1e-45]
    beyond = [float.fromhex("0x1.fefep127"), float.fromhex("0x1.fffffep127")]
    values = np.array([*special, *beyond] * 50, np.float32)
    found = Run(rounding_step(len(values))).run({"x": values})["w_next"].reshape(50, -1)
    for i, value in enumerate(special[:9]):
        np.testing.assert_array_equal(found[:, i], np.full(50, value, np.float32))
    assert set(found[:, 9]) <= {0.0, 2.0**-133}
    # As to nearest.
    assert set(found[:, 10]) == {np.float32(largest)}
    assert set(found[:, 11]) == {np.float32(np.inf)}


def test_sign_of_zero_is_kept() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 18]>
        g (float[2] w) => (float[2] w_next) { w_next = Neg (w) }"""
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(2, np.float32), "w"))
    helper.set_model_props(model, {"amp.state": '[{"input":"w","output":"w_next"}]'})
    step = run_passes(model, "--onnx-infer-types", "--amp-stochastic-rounding=states=w")
    assert np.signbit(Run(with_float32_state(step)).run({})["w_next"]).all()
