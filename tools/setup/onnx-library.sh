#!/usr/bin/env bash
# onnx-library.sh VERSION PYTHON CMAKE PREFIX: builds ONNX's C++ library from its
# source package against the system's Protobuf and moves it to PREFIX when it is
# whole. A change of this file makes tools/dev build it anew.
set -euo pipefail

version=$1 python=$2 cmake=$3 prefix=$4

work=$(dirname "$prefix")/building
rm -rf "$work"
mkdir -p "$work/source"
trap 'rm -rf "$work"' EXIT

"$python" -m pip download --quiet --no-deps --no-binary=onnx --dest "$work" "onnx==$version"
tar -xf "$work/onnx-$version.tar.gz" -C "$work/source" --strip-components=1

"$cmake" -S "$work/source" -B "$work/build" -G Ninja \
  -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
  -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
  -DCMAKE_INSTALL_PREFIX="$work/install" -DCMAKE_INSTALL_LIBDIR=lib \
  -DPython3_EXECUTABLE="$python" \
  -DONNX_USE_PROTOBUF_SHARED_LIBS=ON \
  -DONNX_GEN_PB_TYPE_STUBS=OFF
"$cmake" --build "$work/build"
"$cmake" --install "$work/build"

rm -rf "$prefix"
mv "$work/install" "$prefix"
