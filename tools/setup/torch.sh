#!/usr/bin/env bash
# torch.sh PYTHON PREFIX: installs PyTorch into the folder PREFIX when it is whole.
# PyPI has it linked against CUDA's libraries, which are of no use without a GPU. Its
# small runtime is there to say so; one library whose functions all fail is the others.
set -euo pipefail

python=$1 prefix=$2
requirements=$(dirname "${BASH_SOURCE[0]}")/python-full.txt

work=$prefix.part
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
"$python" -m pip install --progress-bar off --no-deps --target "$work" --requirement "$requirements"
cd "$work"
libraries=(torch/lib/*.so* nvidia/*/lib/*.so*)

# symbols STATE: names that are STATE in the libraries, defined or undefined.
symbols() { nm --dynamic "--$1-only" "${libraries[@]}" | sed -e 's/.* //' -e 's/@.*//' | sort -u; }

{
  echo .text
  comm -23 <(symbols undefined) <(symbols defined) | grep -E '^_*(cu|nccl|nv)' |
    sed 's/.*/.globl &\n&:/'
  printf '%s\n' "movl \$1, %eax" ret '.skip 4096'
} | clang-22 -shared -fuse-ld=lld -x assembler - -o torch/lib/libabsent.so

readelf --dynamic "${libraries[@]}" |
  sed -n 's/.*(NEEDED).*\[\(lib\(cu\|nccl\|nv\).*\)\]/\1/p' |
  sort -u | comm -23 - <(basename --multiple "${libraries[@]}" | sort) |
  while read -r library; do ln -s libabsent.so "torch/lib/$library"; done

PYTHONPATH=. "$python" -c 'import torch; assert not torch.cuda.is_available()'
rm -rf "$prefix"
mv "$work" "$prefix"
