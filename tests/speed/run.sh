#!/usr/bin/env bash
# Runs orias, built as it is given to others, and ptxas in turns, and prints what both cost: see README.md.
#
#   tests/speed/run.sh                              nine generated shapes
#   tests/speed/run.sh tests/corpus --rows …        as `orias-speed compare`
set -euo pipefail
here=$(dirname "$0")/../..
"$here/tests/rust.sh"
export PATH="$PATH:$HOME/.cargo/bin"
orias=$("$here/src/release.sh")
exec cargo run --release --quiet --manifest-path "$here/Cargo.toml" --package orias-speed -- compare --orias "$orias" "$@"
