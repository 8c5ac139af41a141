"""A gradient graph has no more FLOPs in matrix products and convolutions than PyTorch counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_flops import count_flops
from running import run_in_onnxruntime
from tool import onnx_amp

torch = pytest.importorskip("torch", reason="needs PyTorch, which `tools/dev test --full` installs")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402
from torch_models import Cnn, Gpt2, Mlp, ResNet, Vit, export_for_training  # noqa: E402

pytestmark = pytest.mark.full


def images(size: int) -> Any:
    return torch.rand(2, 3, size, size)


MODELS: dict[str, Any] = {
    "mlp": lambda: (Mlp(), torch.rand(8, 64)),
    "cnn": lambda: (Cnn(), torch.rand(8, 64)),
    "gpt2": lambda: (Gpt2(), torch.randint(0, 500, (2, 32))),
    "vit": lambda: (Vit(), images(32)),
    "resnet": lambda: (ResNet(), images(64)),
}


def with_loss(model: onnx.ModelProto, targets: Any) -> None:
    """Adds the mean cross entropy of the output `logits`."""
    model.graph.initializer.append(numpy_helper.from_array(targets.numpy(), "labels"))
    model.graph.node.append(
        helper.make_node("SoftmaxCrossEntropyLoss", ["logits", "labels"], ["loss"])
    )
    model.graph.output.append(helper.make_tensor_value_info("loss", TensorProto.FLOAT, []))


@pytest.mark.parametrize("name", MODELS)
def test_no_more_than_pytorch(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = MODELS[name]()
    model.train()
    source, target = tmp_path / "forward.onnx", tmp_path / "gradient.onnx"
    export_for_training(model, x, source)
    # In float64: a Relu's input near zero has either sign in float32.
    model.double()
    exact = x.double() if x.is_floating_point() else x
    with FlopCounterMode(display=False) as counter:
        logits = model(exact)
        shape = [logits.shape[0], *logits.shape[2:]]
        targets = torch.randint(0, logits.shape[1], shape)
        loss = torch.nn.functional.cross_entropy(logits, targets)
        loss.backward()
    forward = onnx.load(source)
    with_loss(forward, targets)
    onnx.save(forward, source)
    gradients = {key: one.grad for key, one in model.named_parameters()}
    names = {tensor.name for tensor in forward.graph.initializer}
    assert set(gradients) <= names, set(gradients) - names
    wrt = [f"--wrt={key}" for key in gradients]
    onnx_amp().run("differentiate", source, "-o", target, "--loss=loss", *wrt).expect_success()
    onnx.checker.check_model(target, full_check=True)

    ours, theirs = count_flops(onnx.load(target)), counter.get_total_flops()
    assert ours <= theirs, f"{ours}, PyTorch {theirs}: {ours / theirs:.3f} times"
    # and they are the gradients
    feeds = {"x": x.numpy()}
    found = run_in_onnxruntime(target, feeds)
    assert abs(float(found["loss"]) - loss.item()) < 1e-4
    for key, gradient in gradients.items():
        error = (torch.from_numpy(found[f"{key}_grad"]) - gradient).abs().max()
        assert error <= 2e-4 * gradient.abs().max() + 1e-6, (key, float(error))
    print(f"{name}: {ours / theirs:.3f} times PyTorch's FLOPs")
