#!/usr/bin/env bash
# Builds the wheel of the Python package, for this machine's platform and any Python from 3.9 on, and prints where it is:
#     src/python/build.sh [--profile PROFILE] [--python PYTHON]
# maturin comes from PyPI into a virtual environment under target/.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH="$PATH:$HOME/.cargo/bin"
profile=release
python=python3
while [ $# -gt 0 ]; do
    case "$1" in
    --profile) profile=$2 ;;
    --python) python=$2 ;;
    *)
        echo "build.sh: unknown option $1" >&2
        exit 2
        ;;
    esac
    shift 2
done
tests/rust.sh >&2
tools=target/python/tools
[ -x "$tools/bin/pip" ] || "$python" -m venv "$tools" >&2
"$tools/bin/pip" install --quiet --disable-pip-version-check maturin==1.16.0 >&2
wheels=target/python/wheels
rm -rf "$wheels"
"$tools/bin/maturin" build --manifest-path src/python/Cargo.toml --profile "$profile" --strip --locked --out "$wheels" >&2
ls "$wheels"/*.whl
