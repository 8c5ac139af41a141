"""Training steps in ordinary ONNX Runtime beside ONNX Runtime training's own: `tools/dev bench train`.

The models are those of AMP_CORPUS/train: ONNX Runtime training 1.19.2 made its artifacts of them
(training model, optimizer model, checkpoint), and runs these; ours are steps of the same models,
losses and optimizers, in float32, that the ordinary package runs. Neither side copies state between
steps: there it stays in the runtime, here in two sets of buffers that are bound in turn, as
docs/training.md shows. It takes another Python, whose onnxruntime is onnxruntime-training-cpu:
AMP_ORT_TRAINING_PYTHON names it.

    python3.11 -m venv DIR && DIR/bin/pip install onnxruntime-training-cpu==1.19.2

    python training_steps.py FOLDER STEPS    times the artifacts of a folder, as that Python does
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from measure import Series, run

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test" / "python")]

PYTHON_VARIABLE = "AMP_ORT_TRAINING_PYTHON"
PACKAGE = "onnxruntime-training-cpu"
#: Steps before time is taken, and those of a round.
WARM, STEPS = 30, 300
BATCH = 64
#: The shape of an image, behind the batch, and the settings of torch.optim that losses compare with.
MODELS = {"mlp": [64], "cnn": [1, 8, 8]}
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "adamw": {"lr": 1e-3, "weight_decay": 0.01},
    "sgd": {"lr": 1e-3, "weight_decay": 0.0},
}
#: Largest share of ONNX Runtime training's time.
GOAL = 1.0
#: Largest difference of the first loss.
SAME_LOSS = 1e-5
#: The model that is differentiated, and the seconds that it may take.
GPT2, GPT2_SECONDS = "gpt2_small_dynamo20", 1.0


@dataclass
class Timing:
    """What rounds of steps took, in seconds: the median of each; and the first loss."""

    medians: list[float] = field(default_factory=list)
    loss: float = float("nan")
    problem: str = ""

    @property
    def seconds(self) -> float:
        """The least of the medians: what else the machine does only adds."""
        return min(self.medians)


def batch_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """What every step is fed."""
    random = np.random.default_rng(0)
    x = random.uniform(0, 1, [BATCH, *MODELS[name]]).astype(np.float32)
    return x, random.integers(0, 10, BATCH)


def time_artifacts(folder: Path, steps: int) -> tuple[float, float]:
    """The median of steps with ONNX Runtime training's artifacts, and the first loss. Its Python
    classes want PyTorch; these are what they wrap."""
    from onnxruntime.capi import _pybind_state as ort
    from onnxruntime.capi.onnxruntime_inference_collection import get_ort_device_type
    from onnxruntime.capi.onnxruntime_pybind11_state import OrtValueVector, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    state = ort.load_checkpoint(str(folder / "checkpoint"))
    device = ort.OrtDevice(get_ort_device_type("cpu", 0), ort.OrtDevice.default_memory(), 0)
    models = [str(folder / f"{name}_model.onnx") for name in ("training", "eval", "optimizer")]
    module = ort.Module(models[0], state, models[1], device, options)
    optimizer = ort.Optimizer(models[2], state, device, options)
    x, y = batch_of(folder.parent.name)
    times, losses = [], []
    for _ in range(WARM + steps):
        start = time.perf_counter()
        fetched = OrtValueVector()
        module.train_step([x, y], fetched)
        losses.append(float(fetched[0].numpy()))
        optimizer.optimizer_step()
        module.lazy_reset_grad()
        times.append(time.perf_counter() - start)
    return statistics.median(times[WARM:]), losses[0]


class BoundStep:
    """A session with a step. Each run reads one set of state and writes the other."""

    def __init__(self, step: Any) -> None:
        import onnxruntime
        from stateful import initial_state, state_pairs

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            step.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        pairs, initial = state_pairs(step), initial_state(step)
        value = onnxruntime.OrtValue.ortvalue_from_numpy
        # An OrtValue shares the array's memory.
        old, new = ({name: value(initial[name].copy()) for name in pairs} for _ in range(2))
        self.loss = value(np.zeros((), np.float32))
        self.bindings = [self.bind(old, new, pairs), self.bind(new, old, pairs)]

    def bind(self, read: dict[str, Any], written: dict[str, Any], pairs: dict[str, str]) -> Any:
        binding = self.session.io_binding()
        for name, following in pairs.items():
            binding.bind_ortvalue_input(name, read[name])
            binding.bind_ortvalue_output(following, written[name])
        binding.bind_ortvalue_output("loss", self.loss)
        return binding

    def step(self, x: np.ndarray, y: np.ndarray) -> float:
        """The loss."""
        binding = self.bindings[0]
        self.bindings.reverse()
        binding.bind_cpu_input("x", x)
        binding.bind_cpu_input("y", y)
        self.session.run_with_iobinding(binding)
        return float(self.loss.numpy())


def make_ours(name: str, optimizer: str, base: Path, folder: Path) -> BoundStep:
    """Our step."""
    import onnx
    from onnx import TensorProto, helper
    from training import make_step

    forward = onnx.load(base)
    graph = forward.graph
    graph.input.append(helper.make_tensor_value_info("y", TensorProto.INT64, ["N"]))
    graph.node.append(helper.make_node("SoftmaxCrossEntropyLoss", ["logits", "y"], ["loss"]))
    graph.output.append(helper.make_tensor_value_info("loss", TensorProto.FLOAT, []))
    record = OPTIMIZERS[optimizer]
    return BoundStep(make_step(name, optimizer, "none", folder, forward=forward, record=record))


def time_ours(ours: BoundStep, name: str, steps: int) -> tuple[float, float]:
    """The median of steps, and the first loss."""
    x, y = batch_of(name)
    times, losses = [], []
    for _ in range(WARM + steps):
        start = time.perf_counter()
        losses.append(ours.step(x, y))
        times.append(time.perf_counter() - start)
    return statistics.median(times[WARM:]), losses[0]


def compare(name: str, optimizer: str, corpus: Path, rounds: int) -> dict[str, Timing]:
    """Both in turn."""
    found = {"onnx-amp": Timing(), PACKAGE: Timing()}
    artifacts = corpus / name / optimizer
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            step = make_ours(name, optimizer, corpus / name / "base.onnx", Path(folder))
            ours, found["onnx-amp"].loss = time_ours(step, name, STEPS)
            found["onnx-amp"].medians.append(ours)
            theirs = found[PACKAGE]
            command = [os.environ[PYTHON_VARIABLE], __file__, str(artifacts), str(STEPS)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                theirs.problem = (done.stderr.strip().splitlines() or ["failed"])[-1]
                break
            record = json.loads(done.stdout)
            theirs.medians.append(record["seconds"])
            theirs.loss = record["loss"]
    return found


def differentiate(goals: Any, tool: Path, corpus: Path, rounds: int) -> None:
    """Times the gradients of all weights of GPT-2 with 12 layers, a whole process."""
    import onnx
    from test_gradients_corpus import weights_of, with_loss

    path = corpus / f"{GPT2}.onnx"
    if not path.exists():
        print(f"{path} is not there: not measured")
        return
    model = onnx.load(path)
    with_loss(model)
    names = sorted(name for name, array in weights_of(model).items() if array.ndim)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "forward.onnx", Path(folder) / "gradient.onnx"
        onnx.save(model, source)
        del model
        command = [tool, "differentiate", source, "-o", target, "--loss=amp_loss", "--quiet"]
        command += [f"--wrt={name}" for name in names]
        series = Series([run(command, 60) for _ in range(rounds)])
    if series.problem or series.seconds is None:
        goals.add(False, f"{GPT2}: {series.problem}")
        return
    print(f"\n{GPT2}: gradients of {len(names)} weights in {series.seconds:.3f} s, with the file")
    text = f"{GPT2}: {series.seconds:.2f} s to differentiate, allowed {GPT2_SECONDS} s"
    goals.add(series.seconds <= GPT2_SECONDS, text)


def report(goals: Any, tool: Path, rounds: int) -> list[dict[str, object]]:
    """Prints a line for each model and optimizer, and one for the time of the gradients' pass."""
    root = os.environ.get("AMP_CORPUS")
    if not root:
        print("AMP_CORPUS is unset: no training steps are measured")
        return []
    differentiate(goals, tool, Path(root), rounds)
    if not os.environ.get(PYTHON_VARIABLE):
        print(f"{PYTHON_VARIABLE} names no Python with {PACKAGE}: its steps are not measured")
        return []
    records: list[dict[str, object]] = []
    print(f"\ntraining steps of {BATCH} images in float32, one thread: microseconds, least median")
    print(f"of {rounds} rounds of {STEPS}")
    for name in MODELS:
        for optimizer in OPTIMIZERS:
            found = compare(name, optimizer, Path(root) / "train", rounds)
            ours, theirs = found["onnx-amp"], found[PACKAGE]
            if theirs.problem:
                goals.add(False, f"{name}, {optimizer}: {theirs.problem}")
                continue
            ratio = ours.seconds / theirs.seconds
            print(
                f"{name:5} {optimizer:6} onnx-amp {ours.seconds * 1e6:7.0f}   "
                f"{PACKAGE} {theirs.seconds * 1e6:7.0f}   {ratio:.2f} times as long"
            )
            same = abs(ours.loss - theirs.loss) <= SAME_LOSS
            goals.add(same, f"{name}, {optimizer}: losses {ours.loss:.6f} and {theirs.loss:.6f}")
            text = f"{name}, {optimizer}: {ratio:.2f} times {PACKAGE}'s step, allowed {GOAL}"
            goals.add(ratio <= GOAL, text)
            records.append(
                {
                    "model": name,
                    "optimizer": optimizer,
                    "seconds": {tool: timing.medians for tool, timing in found.items()},
                }
            )
    return records


def main(arguments: list[str]) -> int:
    """Entry of the other Python."""
    folder, steps = arguments
    seconds, loss = time_artifacts(Path(folder), int(steps))
    print(json.dumps({"seconds": seconds, "loss": loss}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
