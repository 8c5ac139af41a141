"""What surrounds the training of `tools/dev demo cpu`: its files, and the judgement of what came out.

    demo_digits.py write MODEL...       writes train.npz, test.npz, and MODEL.onnx as models are deployed
    demo_digits.py check MODEL SAID     runs MODEL.trained.onnx in ONNX Runtime; SAID is amp-run's line

Both in the working folder.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test" / "python")]

from training import Digits, accuracy_in_onnxruntime, golden_accuracy, inference_model  # noqa: E402


def deployed(model: str) -> onnx.ModelProto:
    """A golden model with its first weights, from images to logits."""
    found = inference_model(model, {})
    graph, wanted, kept = found.graph, {"logits"}, []
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            kept.append(node)
    del graph.node[:]
    graph.node.extend(reversed(kept))
    inputs = [value for value in graph.input if value.name in wanted]
    del graph.input[:]
    graph.input.extend(inputs)
    return found


def write(models: list[str]) -> None:
    """The data, and the models."""
    digits = Digits.load()
    trained = np.setdiff1d(np.arange(len(digits.x)), digits.test)
    for name, index in (("train", trained), ("test", digits.test)):
        np.savez(f"{name}.npz", x=digits.x[index], labels=digits.y[index])
    print(f"{len(trained)} images of digits to train on, {len(digits.test)} others")
    for model in models:
        onnx.save(deployed(model), f"{model}.onnx")


def problem(model: str, said: str, theirs: float) -> str | None:
    """What is wrong with amp-run's accuracy, beside ONNX Runtime's and PyTorch's."""
    found = re.fullmatch(r"accuracy \S+ \((\d+) of (\d+)\)", said.strip())
    if not found:
        return f"amp-run said '{said}', expected an accuracy"
    ours = int(found[1]) / int(found[2])
    expected = golden_accuracy(model, "adamw", "fp16")
    if ours != theirs:
        return f"accuracy {ours:.6f}, ONNX Runtime's is {theirs:.6f}"
    if ours < expected:
        return f"accuracy {ours:.6f}, expected PyTorch's {expected:.6f} at least"
    return None


def check(model: str, said: str) -> None:
    """Prints the accuracies; ends with an error if they are wrong."""
    theirs = accuracy_in_onnxruntime(onnx.load(f"{model}.trained.onnx"), Digits.load())
    print(f"accuracy {theirs:.6f} of {model}.trained.onnx in ONNX Runtime")
    print(f"accuracy {golden_accuracy(model, 'adamw', 'fp16'):.6f} by PyTorch's training")
    wrong = problem(model, said, theirs)
    if wrong:
        sys.exit(f"demo: error: {model}: {wrong}")


def main(arguments: list[str]) -> None:
    """Entry of the command line."""
    match arguments:
        case ["write", *models]:
            write(models)
        case ["check", model, said]:
            check(model, said)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
