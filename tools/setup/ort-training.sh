#!/usr/bin/env bash
# ort-training.sh PYTHON PREFIX: installs ONNX Runtime's training package into the folder PREFIX when
# it is whole. Its module is called onnxruntime, as that of the package for inference: who wants it
# puts the folder first in PYTHONPATH.
set -euo pipefail

python=$1 prefix=$2

work=$prefix.part
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
"$python" -m pip install --progress-bar off --no-deps --target "$work" onnxruntime-training-cpu==1.19.2
PYTHONPATH=$work "$python" -c 'from onnxruntime.capi._pybind_state import Optimizer'
rm -rf "$prefix"
mv "$work" "$prefix"
