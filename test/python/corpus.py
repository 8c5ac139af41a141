"""Judges conversions of real models: valid, close, deterministic, idempotent, and low where it should be.

    python corpus.py                          the table of all models, both formats
    python corpus.py --placement eager        as PyTorch's dispatcher would decide
    python corpus.py NAME…                    of some
    python corpus.py prepare SHARED OUT       puts the corpus of SHARED together in the folder OUT

The models are those of AMP_CORPUS, or of test/models when it is unset. AMP_CORPUS is a folder of
NAME.onnx, NAME.input.npz and corpus.json, or one with skeletons/ and small/ as they are handed out,
which is put together in the cache first.

Every node that the policy allows must be low, or a listed reason must say why not; and the bytes of
16-bit weights must reach WEIGHT_GOAL of the best rival's whose result is valid: it passes the
checker, runs in ONNX Runtime, is finite and within RIVAL_TOLERANCE. What the rivals give is kept in
the folder of test data and computed once.

The float16 result runs in ONNX Runtime as it is. Both formats also run node by node with every low
tensor really rounded (cases/emu.py): ONNX Runtime's CPU provider has no bfloat16 kernels and hides
float16's overflows. Each model is judged in a process of its own, which gives its memory back.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from allow_nodes import allow_nodes
from running import (
    checker_problem,
    graphs_of,
    nodes_of,
    relative_error,
    run_in_onnxruntime,
    run_strictly,
    size_on_disk,
)
from tool import SOURCE_DIR, Summary, Tool, build_dir, onnx_amp

if TYPE_CHECKING:
    from rivals import Rival

DTYPES = ("fp16", "bf16")
PLACEMENTS = ("optimal", "eager")
LOW_TYPES = {"fp16": onnx.TensorProto.FLOAT16, "bf16": onnx.TensorProto.BFLOAT16}
#: How much wider than float16's the tolerance is: eight times coarser mantissa.
TOLERANCE_FACTOR = {"fp16": 1, "bf16": 8}
#: Part of the best valid rival's 16-bit weight bytes that ours must reach.
WEIGHT_GOAL = 0.95
#: How far off a float16 result of a rival may be to count.
RIVAL_TOLERANCE = 0.05


@dataclass(frozen=True)
class CorpusModel:
    """A model with one batch of inputs; `tolerance` is max|d| / max|reference| allowed in float16."""

    name: str
    path: Path
    inputs: Path
    tolerance: float


@dataclass
class Verdict:
    """What one conversion is worth. `problems` maps a check to what is wrong; empty is a pass."""

    name: str
    dtype: str
    placement: str = "optimal"
    problems: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    nodes: int = 0
    casts: int = 0
    lowered: int = 0
    size_before: int = 0
    size_after: int = 0
    error: float | None = None
    strict_error: float | None = None
    tolerance: float = 0.0
    low_bytes: int = 0
    #: Nodes that the policy allows: how many there are, and why those are not low that are not.
    allow_nodes: int = 0
    allow_kept: dict[str, int] = field(default_factory=dict)
    #: 16-bit weight bytes of each rival's result, or why it does not count.
    rivals: dict[str, int | str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return not self.problems

    @property
    def best_rival(self) -> int:
        """Bytes of 16-bit weights of the best valid rival; 0 if there is none."""
        return max((value for value in self.rivals.values() if isinstance(value, int)), default=0)


# ---- where the models are


def test_data() -> Path:
    """Where what is costly to make is kept."""
    return Path(os.environ.get("AMP_CACHE_DIR") or build_dir() / "test-data")


def is_complete(folder: Path) -> bool:
    """Whether a folder has the models themselves, not what they are made from."""
    return not (folder / "skeletons").is_dir()


def corpus_folder() -> Path | None:
    """The folder of AMP_CORPUS with whole models; None when the variable is unset."""
    root = os.environ.get("AMP_CORPUS")
    if not root:
        return None
    folder = Path(root).resolve()
    if not folder.is_dir():
        raise FileNotFoundError(f"AMP_CORPUS is '{root}', which is not a folder")
    if is_complete(folder):
        return folder
    target = test_data() / "corpus"
    if not (target / "corpus.json").exists():
        prepare(folder, target)
    return target


def prepare(shared: Path, target: Path) -> None:
    """Puts the corpus together: weights for the skeletons, trained models from their packages, the
    small ones, inputs, training graphs; corpus.json last, so that a broken-off run is seen."""
    target.mkdir(parents=True, exist_ok=True)
    for script in ("inflate.py", "trained.py"):
        subprocess.run([sys.executable, shared / script, target], check=True, stdout=sys.stderr)
    for path in (shared / "small").glob("*.onnx"):
        shutil.copyfile(path, target / path.name)
    for path in (shared / "inputs").glob("*.npz"):
        shutil.copyfile(path, target / f"{path.stem}.input.npz")
    if (shared / "train").is_dir():
        shutil.copytree(
            shared / "train", target / "train", dirs_exist_ok=True, copy_function=shutil.copyfile
        )
    shutil.copyfile(shared / "corpus.json", target / "corpus.json")


def models_in(folder: Path) -> list[CorpusModel]:
    """The models of a folder that corpus.json speaks of, smallest first."""
    records = json.loads((folder / "corpus.json").read_text())
    found = [
        CorpusModel(
            record["name"],
            folder / f"{record['name']}.onnx",
            folder / f"{record['name']}.input.npz",
            record["tolerance_fp16"],
        )
        for record in records
    ]
    return sorted(
        (model for model in found if model.path.exists() and model.inputs.exists()),
        key=lambda model: model.path.stat().st_size,
    )


def all_models() -> list[CorpusModel]:
    """Of AMP_CORPUS, or the few small ones of test/models."""
    return models_in(corpus_folder() or SOURCE_DIR / "test" / "models")


# ---- looking into a model


def low_weight_bytes(model: onnx.ModelProto, low: int) -> int:
    """Bytes of the initializers and constants in the low format."""
    tensors = [tensor for graph in graphs_of(model) for tensor in graph.initializer]
    for node in nodes_of(model):
        if node.op_type == "Constant":
            tensors += [item.t for item in node.attribute if item.HasField("t")]
    low_size = 2
    return sum(
        int(np.prod(tensor.dims, dtype=np.int64)) * low_size
        for tensor in tensors
        if tensor.data_type == low
    )


# ---- judging


def reference_outputs(model: CorpusModel) -> dict[str, np.ndarray]:
    """What the float32 model gives."""
    return run_in_onnxruntime(model.path, load_inputs(model))


def load_inputs(model: CorpusModel) -> dict[str, np.ndarray]:
    with np.load(model.inputs) as file:
        return dict(file)


class Judge:
    """Judges the conversions of one model; the float32 reference is computed once."""

    def __init__(
        self,
        model: CorpusModel,
        tool: Tool,
        preset: str = "inference",
        placement: str = "optimal",
    ) -> None:
        self.model = model
        self.tool = tool
        self.preset = preset
        self.placement = placement
        self.inputs = load_inputs(model)
        self.reference = reference_outputs(model)

    def judge(self, dtype: str, work: Path, with_rivals: bool = True) -> Verdict:
        """Converts and checks; `work` needs room for three results."""
        verdict = Verdict(self.model.name, dtype, self.placement)
        verdict.tolerance = self.model.tolerance * TOLERANCE_FACTOR[dtype]
        result = self._convert(self.model.path, work / "first", dtype, verdict)
        if result is None:
            return verdict
        path, summary = result
        self._check(verdict, "deterministic", lambda: self._same_again(path, dtype, work))
        self._check(verdict, "idempotent", lambda: self._nothing_to_add(path, dtype, work))
        self._check(verdict, "checker", lambda: checker_problem(path))
        converted = onnx.load(path)
        self._check(verdict, "interface", lambda: self._interface_problem(converted))
        verdict.nodes = sum(1 for _ in nodes_of(converted))
        verdict.casts = sum(node.op_type == "Cast" for node in nodes_of(converted))
        verdict.lowered = summary.lowered
        verdict.size_before = size_on_disk(self.model.path)
        verdict.size_after = size_on_disk(path)
        verdict.low_bytes = low_weight_bytes(converted, LOW_TYPES[dtype])
        if dtype == "fp16":
            self._check(verdict, "close", lambda: self._run_problem(path, verdict))
        self._check(verdict, "strict", lambda: self._strict_problem(converted, verdict))
        self._check(
            verdict, "allow", lambda: self._allow_problem(converted, summary, dtype, verdict)
        )
        if with_rivals:
            self._check(verdict, "weights", lambda: self._weights_problem(dtype, work, verdict))
        return verdict

    @staticmethod
    def _check(verdict: Verdict, name: str, check: Callable[[], str | None]) -> None:
        try:
            problem = check()
        except Exception as error:
            message = str(error).strip().splitlines()
            problem = f"{type(error).__name__}: {message[0][:300] if message else ''}"
            if os.environ.get("AMP_TEST_TRACEBACK"):
                traceback.print_exc()
        if problem:
            verdict.problems[name] = problem

    def _convert(
        self, source: Path, folder: Path, dtype: str, verdict: Verdict
    ) -> tuple[Path, Summary] | None:
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{self.model.name}.onnx"
        start = time.perf_counter()
        try:
            options = ["--dtype", dtype, "--policy", self.preset, "--placement", self.placement]
            summary = self.tool.convert(source, target, *options, timeout=600)
        except (AssertionError, subprocess.TimeoutExpired, ValueError) as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            verdict.problems["convert"] = lines[-1][:400]
            return None
        verdict.seconds = time.perf_counter() - start
        return target, summary

    def _same_again(self, path: Path, dtype: str, work: Path) -> str | None:
        return self._bytes_differ(self.model.path, path, dtype, work / "again")

    def _nothing_to_add(self, path: Path, dtype: str, work: Path) -> str | None:
        return self._bytes_differ(path, path, dtype, work / "twice")

    def _bytes_differ(self, source: Path, expected: Path, dtype: str, folder: Path) -> str | None:
        scratch = Verdict(self.model.name, dtype)
        result = self._convert(source, folder, dtype, scratch)
        if result is None:
            return scratch.problems["convert"]
        names = sorted(path.name for path in expected.parent.iterdir())
        found = sorted(path.name for path in folder.iterdir())
        try:
            if names != found:
                return f"files {found}, expected {names}"
            for name in names:
                if not same_bytes(expected.parent / name, folder / name):
                    return f"the bytes of {name} differ"
        finally:
            shutil.rmtree(folder)
        return None

    def _interface_problem(self, converted: onnx.ModelProto) -> str | None:
        original = onnx.load(self.model.path, load_external_data=False)
        for kind in ("input", "output"):
            expected = [_type_of(value) for value in getattr(original.graph, kind)]
            found = [_type_of(value) for value in getattr(converted.graph, kind)]
            if expected != found:
                return f"{kind}s are {found}, expected {expected}"
        return None

    def _run_problem(self, path: Path, verdict: Verdict) -> str | None:
        verdict.error = relative_error(self.reference, run_in_onnxruntime(path, self.inputs))
        return _error_problem(verdict.error, verdict.tolerance)

    def _strict_problem(self, converted: onnx.ModelProto, verdict: Verdict) -> str | None:
        outputs, _ = run_strictly(converted, self.inputs)
        verdict.strict_error = relative_error(self.reference, outputs)
        return _error_problem(verdict.strict_error, verdict.tolerance)

    def _allow_problem(
        self, converted: onnx.ModelProto, summary: Summary, dtype: str, verdict: Verdict
    ) -> str | None:
        found = allow_nodes(converted, self.preset, LOW_TYPES[dtype], summary.kept)
        verdict.allow_nodes, verdict.allow_kept = found.count, found.kept
        if found.silent:
            return f"{len(found.silent)} of {found.count} nodes are not low: {found.silent[0]}"
        return None

    def _weights_problem(self, dtype: str, work: Path, verdict: Verdict) -> str | None:
        verdict.rivals = rival_weight_bytes(self, dtype, work)
        if verdict.low_bytes < WEIGHT_GOAL * verdict.best_rival:
            return (
                f"{verdict.low_bytes} bytes of low weights, "
                f"the best valid rival has {verdict.best_rival}"
            )
        return None


def rival_weight_bytes(judge: Judge, dtype: str, work: Path) -> dict[str, int | str]:
    """Per rival: the bytes of 16-bit weights of its result, or why it does not count."""
    from rivals import RIVALS, SORTED

    found: dict[str, int | str] = {}
    for rival in (*RIVALS, SORTED):
        if dtype not in rival.dtypes:
            continue
        if not rival.version:
            found[rival.name] = "not installed, not measured"
            continue
        kept = _kept_result(judge, f"{rival.name} {rival.version} {dtype}")
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            result = _judge_rival(judge, rival, dtype, work / "rival")
            kept.write_text(json.dumps(result))
        found[rival.name] = json.loads(kept.read_text())
    return found


def _kept_result(judge: Judge, rival: str) -> Path:
    """The file with what a rival gave for a model; it depends on what it was judged with, too."""
    import onnxruntime

    key = hashlib.sha256(judge.model.inputs.read_bytes())
    with judge.model.path.open("rb") as file:
        while block := file.read(1 << 24):
            key.update(block)
    versions = f"{rival}, onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}"
    key.update(f"{versions}, {RIVAL_TOLERANCE}".encode())
    return test_data() / "rivals" / f"{judge.model.name}-{key.hexdigest()[:16]}.json"


def _judge_rival(judge: Judge, rival: Rival, dtype: str, folder: Path) -> int | str:
    folder.mkdir()
    target = folder / f"{judge.model.name}.onnx"
    try:
        done = subprocess.run(
            rival.command(judge.model.path, target, dtype), capture_output=True, timeout=900
        )
        if done.returncode != 0:
            return "fails to convert"
        problem = checker_problem(target) or _error_problem(
            _rival_error(judge, target, dtype), RIVAL_TOLERANCE * TOLERANCE_FACTOR[dtype]
        )
        if problem:
            return f"not valid: {problem.splitlines()[0][:120]}"
        return low_weight_bytes(onnx.load(target, load_external_data=False), LOW_TYPES[dtype])
    except Exception as error:
        return f"not valid: {type(error).__name__}: {str(error)[:120]}"
    finally:
        shutil.rmtree(folder)


def _rival_error(judge: Judge, path: Path, dtype: str) -> float:
    if dtype == "fp16":
        return relative_error(judge.reference, run_in_onnxruntime(path, judge.inputs))
    return relative_error(judge.reference, run_strictly(onnx.load(path), judge.inputs)[0])


def same_bytes(one: Path, other: Path) -> bool:
    """Whether two files are equal, without reading them whole."""
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as left, other.open("rb") as right:
        while block := left.read(1 << 24):
            if block != right.read(1 << 24):
                return False
    return True


def _type_of(value: onnx.ValueInfoProto) -> tuple[str, str]:
    return value.name, value.type.SerializeToString().hex()


def _error_problem(error: float, tolerance: float) -> str | None:
    return f"error {error:.3g}, allowed {tolerance:.3g}" if not error <= tolerance else None


# ---- one process per model


def judge_in_process(
    model: CorpusModel, dtypes: tuple[str, ...], rivals: bool, placement: str = "optimal"
) -> list[Verdict]:
    """Judges in a child process; a crash of it is a verdict."""
    command = [sys.executable, __file__, "--child", model.name, *dtypes, "--placement", placement]
    done = subprocess.run(
        command + ([] if rivals else ["--no-rivals"]), capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    verdicts = [Verdict(**json.loads(line)) for line in lines]
    for dtype in dtypes[len(verdicts) :]:
        message = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        verdicts.append(Verdict(model.name, dtype, placement, {"judge": message[:300]}))
    return verdicts


def _child(name: str, dtypes: list[str], rivals: bool, placement: str) -> int:
    model = next(model for model in all_models() if model.name == name)
    judge = Judge(model, onnx_amp(), placement=placement)
    for dtype in dtypes:
        with tempfile.TemporaryDirectory() as folder:
            verdict = judge.judge(dtype, Path(folder), rivals)
        print(json.dumps(dataclasses.asdict(verdict)), flush=True)
    return 0


def table(verdicts: list[Verdict]) -> str:
    """The verdicts as text, a line each, and the counts."""
    lines = [
        f"{'model':34} {'to':4} {'placed':7} {'s':>6} {'nodes':>6} {'casts':>5} {'allow low':>9} "
        f"{'low MB':>7} {'/rival':>6} {'size':>5} {'error':>8} {'strict':>8} {'limit':>7}  verdict"
    ]
    for item in verdicts:
        ratio = item.size_after / item.size_before if item.size_before else 0
        errors = [
            "-" if value is None else f"{value:.2g}" for value in (item.error, item.strict_error)
        ]
        low = item.allow_nodes - sum(item.allow_kept.values())
        rival = f"{item.low_bytes / item.best_rival:.3f}" if item.best_rival else "-"
        problems = "; ".join(f"{name}: {text}" for name, text in item.problems.items())
        lines.append(
            f"{item.name:34} {item.dtype:4} {item.placement:7} {item.seconds:6.2f} {item.nodes:6} "
            f"{item.casts:5} {f'{low}/{item.allow_nodes}':>9} {item.low_bytes / 1e6:7.1f} {rival:>6} {ratio:5.2f} "
            f"{errors[0]:>8} {errors[1]:>8} {item.tolerance:7.2g}  {problems or 'ok'}"
        )
    for item in verdicts:
        for reason, count in item.allow_kept.items():
            lines.append(f"{item.name} {item.dtype}: {count} allow nodes kept: {reason}")
    rivals = Counter(
        (name, "valid" if isinstance(value, int) else value.split(":")[0])
        for item in verdicts
        for name, value in item.rivals.items()
    )
    lines += [f"{name}: {text} on {count}" for (name, text), count in sorted(rivals.items())]
    passed = sum(item.passed for item in verdicts)
    return "\n".join([*lines, f"{passed} of {len(verdicts)} conversions are right"])


def main() -> int:
    """Entry of the command line."""
    if sys.argv[1:2] == ["prepare"]:
        prepare(Path(sys.argv[2]), Path(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--no-rivals", action="store_true", help="do not run other converters")
    parser.add_argument("--dtype", choices=DTYPES, help="only one format")
    parser.add_argument("--placement", choices=PLACEMENTS, default="optimal")
    parser.add_argument("--child", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return _child(options.child, options.names, not options.no_rivals, options.placement)
    dtypes = (options.dtype,) if options.dtype else DTYPES
    models = [model for model in all_models() if not options.names or model.name in options.names]
    verdicts: list[Verdict] = []
    for model in models:
        verdicts += judge_in_process(model, dtypes, not options.no_rivals, options.placement)
        print(
            "\n".join(table(verdicts[-len(dtypes) :]).splitlines()[1 : 1 + len(dtypes)]), flush=True
        )
    print(table(verdicts))
    return 0 if all(verdict.passed for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
