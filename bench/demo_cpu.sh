#!/usr/bin/env bash
# Trains digits models on the CPU runtime, from a shell: what `tools/dev demo cpu` shows.
#
#   demo_cpu.sh [MODEL...]      of cnn, transformer; all without
#
# In float16 with dynamic loss scaling; no Python is in the process that trains. Then the model is
# evaluated on other images, its weights are put into the ONNX model, ONNX Runtime runs that, and a run that
# is killed and resumed gives the same weights. PyTorch's accuracy (test/golden/train) is that of 5 epochs in
# an order of its own; here are 10. Ends with exit code 1 if an accuracy is below PyTorch's, if ONNX
# Runtime's is another, or if weights differ.
set -euo pipefail

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PATH=${AMP_BUILD_DIR:-$bench/../build/release}/bin:$PATH
readonly bench epochs=10
declare -rA rates=([cnn]=1e-3 [transformer]=3e-3) # PyTorch's

die() {
  printf 'demo: error: %s\n' "$*" >&2
  exit 1
}

# shown COMMAND...: prints it, and runs it.
shown() {
  printf '$ %s\n' "$*"
  "$@"
}

# Sets `training`, the command that trains MODEL into NAME.safetensors, with its log beside it.
train_into() {
  local model=$1 name=$2
  training=(amp-run "$model.step.ampx" --train --data train.npz --epochs "$epochs" --shuffle 1)
  training+=(--log "$name.jsonl" --checkpoint "$name.safetensors" --checkpoint-every 20)
  training+=(--save-state "$name.state.safetensors")
}

# Trains again, with an end by force behind the first checkpoint, and goes on.
kill_and_resume() {
  local model=$1 pid status=0
  train_into "$model" "$model.killed"
  printf '$ %s &\n' "${training[*]}"
  "${training[@]}" &
  pid=$!
  until [ -e "$model.killed.safetensors" ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.005; done
  kill -KILL "$pid" 2>/dev/null || true
  { wait "$pid"; } 2>/dev/null || status=$?
  [ "$status" = 137 ] || die "$model: training ended with $status before it was killed"
  printf '$ kill -KILL %s   (in step %s)\n' "$pid" "$(($(wc -l <"$model.killed.jsonl") + 1))"
  shown "${training[@]}" --resume "$model.killed.safetensors"
  shown cmp "$model.state.safetensors" "$model.killed.state.safetensors" ||
    die "$model: a run that was killed and resumed has other weights"
}

demonstrate() {
  local model=$1 said
  printf '\n%s\n' "$model"
  shown onnx-amp train-graph "$model.onnx" -o "$model.step.onnx" --loss cross-entropy \
    --optimizer adamw --lr "${rates[$model]}" --weight-decay 0.01 --dtype fp16 --loss-scale dynamic
  shown onnx-amp compile "$model.step.onnx" -o "$model.step.ampx"
  train_into "$model" "$model"
  shown "${training[@]}"
  shown onnx-amp bake "$model.onnx" --checkpoint "$model.safetensors" -o "$model.trained.onnx"
  shown onnx-amp compile "$model.trained.onnx" -o "$model.trained.ampx"
  said=$(amp-run "$model.trained.ampx" --eval-data test.npz --metric accuracy)
  printf '$ amp-run %s --eval-data test.npz --metric accuracy\n%s\n' "$model.trained.ampx" "$said"
  python "$bench/demo_digits.py" check "$model" "$said"
  kill_and_resume "$model"
}

models=("$@")
[ $# != 0 ] || models=(cnn transformer)
for model in "${models[@]}"; do
  [ -n "${rates[$model]:-}" ] || die "unknown model '$model', expected one of ${!rates[*]}"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python "$bench/demo_digits.py" write "${models[@]}"
for model in "${models[@]}"; do demonstrate "$model"; done
