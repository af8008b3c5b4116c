#!/usr/bin/env bash
# Installs the oracle tools (ptxas, nvdisasm, cuobjdump) into a private virtual environment, .oracle, and links them into
# .oracle/bin. They are black boxes for tests: never shipped, never linked. Without network this says so and fails.
set -euo pipefail
cd "$(dirname "$0")/.."
tools="ptxas nvdisasm cuobjdump"
ready() { for tool in $tools; do [ -x ".oracle/bin/$tool" ] || return 1; done; }
if ! ready; then
    python3 -m venv .oracle
    .oracle/bin/pip install --quiet --disable-pip-version-check --no-deps \
        nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.5.37 nvidia-cuda-cuobjdump==13.5.37 || {
        echo "oracle.sh: cannot install the oracle tools from PyPI (is there a network?)" >&2
        exit 1
    }
    for tool in $tools; do
        found=$(find "$PWD/.oracle" -path "*/bin/$tool" -type f | head -n 1)
        [ -n "$found" ] || { echo "oracle.sh: no $tool in the packages" >&2; exit 1; }
        ln -sf "$found" ".oracle/bin/$tool"
    done
fi
ready
