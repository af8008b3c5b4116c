#!/usr/bin/env bash
# Installs the oracle tools (ptxas, nvdisasm, cuobjdump, nvcc with what it calls) into a private virtual environment, .oracle, and
# puts them into .oracle/bin. They are black boxes for tests: never shipped, never linked. Without network this says so and fails.
set -euo pipefail
cd "$(dirname "$0")/.."
links="ptxas nvdisasm cuobjdump"
# An environment of an earlier version of this script lacks nvcc, or its compiler and headers.
ready() {
    for tool in $links nvcc; do [ -x ".oracle/bin/$tool" ] || return 1; done
    for part in nvvm/bin/cicc include/crt/host_config.h include/cuda_runtime.h; do
        [ -n "$(find -L .oracle -path "*/$part" -type f | head -n 1)" ] || return 1
    done
}
# The path of a tool in the packages.
packaged() {
    found=$(find "$PWD/.oracle/lib" -path "*/bin/$1" -type f | head -n 1)
    [ -n "$found" ] || { echo "oracle.sh: no $1 in the packages" >&2; exit 1; }
}
if ! ready; then
    [ -x .oracle/bin/pip ] || python3 -m venv .oracle
    .oracle/bin/pip install --quiet --disable-pip-version-check --no-deps \
        nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.5.37 nvidia-cuda-cuobjdump==13.5.37 \
        nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.88 || {
        echo "oracle.sh: cannot install the oracle tools from PyPI (is there a network?)" >&2
        exit 1
    }
    for tool in $links; do
        packaged "$tool"
        ln -sf "$found" ".oracle/bin/$tool"
    done
    # nvcc looks for its compiler and headers beside the path that it is called by: a link would lead it astray.
    packaged nvcc
    rm -f .oracle/bin/nvcc
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$found" >.oracle/bin/nvcc
    chmod +x .oracle/bin/nvcc
fi
ready
