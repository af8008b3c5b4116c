#!/usr/bin/env bash
# Writes PHASES.md: what every phase costs and what it is worth in code, over the kernel corpus.
#
#   tests/speed/phases.sh                       with orias as it is given to others, which is built
#   tests/speed/phases.sh --orias PROGRAM …     with this one; what follows are options of `orias bench`
set -euo pipefail
here=$(dirname "$0")/../..
cd "$here"
if [ "${1:-}" = --orias ]; then
    orias=$(realpath "${2:?a program}")
    shift 2
else
    tests/rust.sh
    export PATH="$PATH:$HOME/.cargo/bin"
    orias=$(src/release.sh)
fi
exec "$orias" bench --phases --markdown tests/speed/PHASES.md --notes tests/speed/notes.tsv "$@" tests/corpus
