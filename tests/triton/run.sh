#!/usr/bin/env bash
# Compiles Triton's kernels with orias and with ptxas, and compares: see README.md.
#
#   tests/triton/run.sh                      all of it: the PTX, then the comparison at -O3
#   tests/triton/run.sh --ptx FOLDER         only the PTX, to that folder
#   tests/triton/run.sh -- --level 0         arguments behind `--` go to `orias-isa compare`
#   TRITON_PYTHON=…                          a python with Triton; else one is made below target/triton
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
version=3.6.0
work=$root/target/triton

ptx=$work/ptx
compare=yes
if [ "${1:-}" = --ptx ]; then
    ptx=$(realpath --canonicalize-missing "${2:?a folder}")
    compare=no
    shift 2
fi
if [ "${1:-}" = -- ]; then shift; fi

python=${TRITON_PYTHON:-}
if [ -z "$python" ]; then
    python=$work/venv/bin/python
    if ! "$python" -c "import triton, sys; sys.exit(triton.__version__ != '$version')" 2>/dev/null; then
        python3 -m venv "$work/venv"
        "$work/venv/bin/pip" install --quiet "triton==$version"
    fi
fi
(cd "$here" && "$python" -B build.py "$ptx")
[ "$compare" = no ] && exit
cd "$root"
exec cargo run --release --quiet -p orias-isa -- compare "$ptx" "$@"
