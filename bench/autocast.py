"""What conversions are worth, ours beside the other converters': `tools/dev bench autocast`.

Twice for each model. First each converter as its users run it: casts, bytes moved, bytes of
weights, time, error against float32, and whether the result is a valid model. Then placement alone:
the policy is the other converter's own, range guards and the island rule are off, and bytes moved
are compared with its result's and with eager placement's.

Bytes moved are what `onnx-amp inspect` counts of any file (include/amp/Analysis/CostModel.h), so
that one function measures all of them. Models have the sizes of the inputs at hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import onnx
import rivals
from measure import run

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test" / "python")]

from corpus import RIVAL_TOLERANCE, CorpusModel, load_inputs, reference_outputs  # noqa: E402
from running import (  # noqa: E402
    checker_problem,
    graphs_of,
    nodes_of,
    relative_error,
    run_in_onnxruntime,
    size_on_disk,
)

#: The preset with a rival's lists.
PRESETS = {
    "onnxconverter-common": "onnxconverter-common",
    "onnxruntime.transformers": "ort-transformers",
    "onnxruntime.transformers, sorted": "ort-transformers",
    "ModelOpt AutoCast": "modelopt",
}
#: The rival's lists as a policy without guards on ranges: neither on constants nor on operands that
#: are small, and that rivals round (running statistics, ratios, exponents).
UNGUARDED = """\
extends: {preset}
out_of_range: convert
underflow: flush
pin:
  BatchNormalization@14: []
  BatchNormalization@15+: []
  Dropout@12+: []
  Pow@12+: []
"""
#: Initializers beyond this many elements say nothing of shapes.
SHAPE_ELEMENTS = 64
#: An error that much larger is one that can be seen.
SAME_ERROR = 1.25
#: Times and bytes that differ less are equal.
SAME_SECONDS = 1.1
SAME_BYTES = 1.002
FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


@dataclass
class Outcome:
    """One conversion; `problem` says why it does not count."""

    tool: str
    problem: str = ""
    seconds: float = 0.0
    nodes: int = 0
    casts: int = 0
    moved: int = 0
    cast_bytes: int = 0
    weight_bytes: int = 0
    error: float | None = None
    #: Why nodes are float32, of our own conversions: reason to number of nodes.
    kept: dict[str, int] = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        return not self.problem


def moved_bytes(tool: Path, path: Path) -> tuple[int, int]:
    """What a model moves in each run, and what of it by casts; ValueError if that can't be said."""
    done = subprocess.run(
        [tool, "inspect", "--json", path], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ValueError(done.stderr.strip() or f"exit code {done.returncode}")
    moved = json.loads(done.stdout)["moved_bytes"]
    return int(moved["total"]), int(moved["casts"])


def float_casts(model: onnx.ModelProto) -> int:
    """Cast nodes to a float format."""
    return sum(
        node.op_type == "Cast"
        and any(item.name == "to" and item.i in FLOATS for item in node.attribute)
        for node in nodes_of(model)
    )


def float_weight_bytes(model: onnx.ModelProto) -> int:
    """Bytes of initializers and constants in float formats."""
    tensors = [tensor for graph in graphs_of(model) for tensor in graph.initializer]
    for node in nodes_of(model):
        if node.op_type == "Constant":
            tensors += [item.t for item in node.attribute if item.HasField("t")]
    size = {onnx.TensorProto.FLOAT: 4}
    total = 0
    for tensor in tensors:
        if tensor.data_type in FLOATS:
            count = 1
            for dimension in tensor.dims:
                count *= dimension
            total += count * size.get(tensor.data_type, 2)
    return total


def write_sizes(
    model: onnx.ModelProto,
    path: Path,
    inputs: dict[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
) -> None:
    """Writes a model with the sizes that values have for these inputs: then they do not depend on
    what a converter leaves of them. Raises an exception if it does not run with them."""
    for values, arrays in ((model.graph.input, inputs), (model.graph.output, outputs)):
        for value in values:
            array = arrays.get(value.name)
            if isinstance(array, np.ndarray) and value.type.HasField("tensor_type"):
                shape = value.type.tensor_type.shape
                shape.ClearField("dim")
                for size in array.shape:
                    shape.dim.add(dim_value=size)
    for graph in graphs_of(model):
        graph.ClearField("value_info")
    _infer_sizes(model)
    # What can't be inferred is seen when it runs.
    unknown = [value for value in model.graph.value_info if not _is_sized(value.type.tensor_type)]
    model.graph.output.extend(unknown)
    onnx.save(model, path)
    seen = run_in_onnxruntime(path, inputs)
    del model.graph.output[len(model.graph.output) - len(unknown) :]
    for value in unknown:
        shape = value.type.tensor_type.shape
        shape.ClearField("dim")
        for size in np.shape(seen[value.name]):
            shape.dim.add(dim_value=size)
    _infer_sizes(model)
    onnx.save(model, path)


def _infer_sizes(model: onnx.ModelProto) -> None:
    """Adds what ONNX infers, in subgraphs too."""
    light = onnx.ModelProto()
    light.CopyFrom(model)
    for graph in graphs_of(light):
        for tensor in graph.initializer:
            if np.prod(tensor.dims, dtype=np.int64) > SHAPE_ELEMENTS:
                tensor.ClearField("raw_data")
                tensor.ClearField("float_data")
    inferred = onnx.shape_inference.infer_shapes(light, data_prop=True)
    for graph, other in zip(graphs_of(model), graphs_of(inferred), strict=True):
        for values, found in ((graph.value_info, other.value_info), (graph.output, other.output)):
            del values[:]
            values.extend(found)


def _is_sized(tensor: onnx.TypeProto.Tensor) -> bool:
    return tensor.HasField("shape") and all(dim.dim_value for dim in tensor.shape.dim)


def restore_sizes(model: onnx.ModelProto, source: Path) -> bool:
    """Gives a result the sizes that its values have in its source: a converter may leave others,
    which would count in its favour. Returns whether there were any."""
    sizes = {
        value.name: value.type.tensor_type.shape
        for graph in graphs_of(onnx.load(source, load_external_data=False))
        for value in (*graph.value_info, *graph.output)
        if _is_sized(value.type.tensor_type)
    }
    changed = False
    for graph in graphs_of(model):
        for value in graph.value_info:
            tensor = value.type.tensor_type
            if value.name in sizes and tensor.shape != sizes[value.name]:
                tensor.shape.CopyFrom(sizes[value.name])
                changed = True
    return changed


class Bench:
    """Converts one model, in every way, and judges what comes out. `work` is an empty folder."""

    def __init__(self, tool: Path, model: CorpusModel, work: Path, limit: float = 300) -> None:
        self.tool = tool
        self.model = model
        self.work = work
        self.limit = limit
        self.known: dict[str, Outcome] = {}
        self.inputs = load_inputs(model)
        self.reference = reference_outputs(model)
        self.source = work / "sized" / model.path.name
        self.source.parent.mkdir()
        # A branch that is not taken may be for other sizes.
        try:
            write_sizes(onnx.load(model.path), self.source, self.inputs, self.reference)
        except Exception:
            self.source = model.path

    def convert(self, name: str, command: Sequence[str | Path], target: Path) -> Outcome:
        """Runs a converter as a whole process and judges its result."""
        outcome = Outcome(name)
        done = run(command, self.limit)
        if done.seconds is None or done.returncode != 0:
            outcome.problem = f"does not convert: {done.message[:100]}"
            return outcome
        outcome.seconds = done.seconds
        self.judge(outcome, target)
        return outcome

    def judge(self, outcome: Outcome, target: Path) -> None:
        """Checks, counts and runs a converted model."""
        if problem := checker_problem(target):
            outcome.problem = f"not valid: {problem[:100]}"
            return
        try:
            outcome.error = relative_error(self.reference, run_in_onnxruntime(target, self.inputs))
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            outcome.problem = f"does not run: {lines[0][:100]}"
            return
        model = onnx.load(target, load_external_data=False)
        counted = target
        if restore_sizes(model, self.source):
            counted = self.work / "counted" / target.name
            counted.parent.mkdir(exist_ok=True)
            whole = onnx.load(target)
            restore_sizes(whole, self.source)
            onnx.save(whole, counted)
        try:
            outcome.moved, outcome.cast_bytes = moved_bytes(self.tool, counted)
        except ValueError as error:
            outcome.problem = f"not counted: {error}"
            return
        outcome.nodes = sum(1 for _ in nodes_of(model))
        outcome.casts = float_casts(model)
        outcome.weight_bytes = float_weight_bytes(model)

    def ours(self, name: str, *options: str | Path) -> Outcome:
        """Our own conversion to float16."""
        target = self.work / "ours.onnx"
        report = self.work / "report.json"
        command = [self.tool, "convert", "--quiet", self.source, "-o", target, *options]
        outcome = self.convert(name, command, target)
        if outcome.is_valid:
            # Once more, as reports take time.
            run([*command, "--report", report], self.limit)
            kept = Counter(
                f"{node['operator']} {node['category']}"
                for node in json.loads(report.read_text())["kept"]
                if "float32" in node["formats"]
            )
            outcome.kept = dict(kept.most_common())
        return outcome

    def rival(self, rival: rivals.Rival) -> Outcome:
        """Another converter's conversion to float16, which is run once."""
        if rival.name not in self.known:
            target = self.work / "rival.onnx"
            command = rival.command(self.source, target, "fp16")
            self.known[rival.name] = self.convert(rival.name, command, target)
        return self.known[rival.name]

    def original(self) -> Outcome:
        """The model itself."""
        outcome = Outcome("float32")
        self.judge(outcome, self.source)
        return outcome

    def defaults(self) -> list[Outcome]:
        """Every converter with its own defaults, ours first."""
        found = [self.ours("onnx-amp")]
        return found + [self.rival(rival) for rival in self._rivals()]

    def placements(self) -> list[Placements]:
        """For each rival, its result beside ours by its own lists."""
        found = []
        for rival in self._rivals():
            policy = self.work / "policy.yaml"
            policy.write_text(UNGUARDED.format(preset=PRESETS[rival.name]))
            unguarded = ("--policy", policy, "--estimates", "ignore")
            found.append(
                Placements(
                    self.rival(rival),
                    self.ours("optimal", *unguarded, "--islands", "lower"),
                    self.ours("eager", *unguarded, "--placement", "eager"),
                )
            )
        return found

    @staticmethod
    def _rivals() -> list[rivals.Rival]:
        """Those that are here; of a rival that leaves sorting to its users, what careful ones do."""
        here = rivals.installed()
        if any(rival.name == "onnxruntime.transformers" for rival in here):
            here = [rival for rival in here if rival.name != "onnxruntime.transformers"]
            here.append(rivals.SORTED)
        return here


@dataclass
class Placements:
    """One policy, three placements."""

    rival: Outcome
    optimal: Outcome
    eager: Outcome

    def problems(self) -> list[str]:
        """What is not as it should be: optimal placement moves no more bytes than another one."""
        found = []
        for ours in (self.optimal, self.eager):
            if not ours.is_valid:
                found.append(f"{ours.tool} placement: {ours.problem}")
        for other in (self.rival, self.eager):
            if self.optimal.is_valid and other.is_valid and self.optimal.moved > other.moved:
                found.append(
                    f"optimal placement moves {self.optimal.moved} bytes, {other.tool} "
                    f"{other.moved} ({self.optimal.casts} and {other.casts} casts)"
                )
        return found


def behind(ours: Outcome, other: Outcome, tolerance: float) -> list[str]:
    """Where another converter's valid result is better than ours, and why. One that is wrong, by
    RIVAL_TOLERANCE, is not."""
    if not other.is_valid or other.error is None or not other.error <= RIVAL_TOLERANCE:
        return []
    if not ours.is_valid:
        return [f"{other.tool}: {ours.problem}"]
    found = []
    kept = ", ".join(f"{count} {what}" for what, count in list(ours.kept.items())[:4])
    why = f"; float32 stay {kept}" if kept else ""
    if ours.moved > SAME_BYTES * other.moved:
        ratio = ours.moved / other.moved
        found.append(f"{other.tool}: moves fewer bytes, ours {ratio:.3f} times as many{why}")
    if ours.weight_bytes > SAME_BYTES * other.weight_bytes:
        ratio = ours.weight_bytes / other.weight_bytes
        found.append(f"{other.tool}: smaller weights, ours {ratio:.3f} times as large{why}")
    if ours.seconds > SAME_SECONDS * other.seconds:
        found.append(f"{other.tool}: takes {other.seconds:.2f} s, ours {ours.seconds:.2f} s")
    if (
        ours.error is not None
        and other.error is not None
        and ours.error > SAME_ERROR * other.error
        and not ours.error <= tolerance
    ):
        found.append(
            f"{other.tool}: error {other.error:.2g}, ours {ours.error:.2g} "
            f"(allowed {tolerance:.2g})"
        )
    return found


def row(outcome: Outcome, original: Outcome) -> str:
    """A line of the first table."""
    head = f"  {outcome.tool:32}"
    if not outcome.is_valid:
        return f"{head} {outcome.problem}"
    moved = f"{outcome.moved / 1e6:9.2f}"
    if original.is_valid and original.moved:
        moved += f" {outcome.moved / original.moved:5.2f}"
    else:
        moved += f" {'-':>5}"
    error = "-" if outcome.error is None else f"{outcome.error:.2g}"
    return (
        f"{head} {outcome.casts:5} {moved} {outcome.cast_bytes / 1e6:8.2f} "
        f"{outcome.weight_bytes / 1e6:8.2f} {outcome.seconds:7.2f} {error:>8}"
    )


HEAD = (
    f"  {'':32} {'casts':>5} {'MB moved':>9} {'/fp32':>5} {'by casts':>8} {'MB wght':>8} "
    f"{'seconds':>7} {'error':>8}"
)


def report(bench: Bench) -> tuple[dict[str, object], list[str]]:
    """Measures a model and prints its part of the tables; gives what was measured, and what is not
    as it should be."""
    name = bench.model.name
    original = bench.original()
    outcomes = bench.defaults()
    print(f"\n{name}, {size_on_disk(bench.model.path) / 1e6:.1f} MB\n{HEAD}")
    print(row(original, original))
    for outcome in outcomes:
        print(row(outcome, original))
    remarks = []
    for other in outcomes[1:]:
        remarks += behind(outcomes[0], other, bench.model.tolerance)
    for remark in remarks:
        print(f"    behind {remark}")
    problems = []
    placements = bench.placements()
    for placed in placements:
        print(f"  by the lists of {placed.rival.tool}, ranges, estimates and islands not looked at")
        for outcome in (placed.rival, placed.optimal, placed.eager):
            print(f"  {row(outcome, original)[:100]}")
        for problem in placed.problems():
            print(f"    MISSED {problem}")
            problems.append(f"{name}, lists of {placed.rival.tool}: {problem}")
    sys.stdout.flush()
    record: dict[str, object] = {
        "model": name,
        "defaults": [asdict(outcome) for outcome in (original, *outcomes)],
        "behind": remarks,
        "placements": [asdict(placed) for placed in placements],
    }
    return record, problems
