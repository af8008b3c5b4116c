#!/usr/bin/env bash
# Installs what the tests need and runs all of them: the README's second command, and what CI runs. Its last line is
# `N passed, N failed, N skipped`; the reasons for skipped tests stand on the lines before.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$HOME/.cargo/bin"
tests/rust.sh
if tests/oracle.sh; then
    export ORIAS_ORACLE="$PWD/.oracle/bin"
elif [ -n "${CI:-}" ]; then
    exit 1
else
    echo "run.sh: tests that need the oracle tools will be counted as skipped" >&2
fi
cargo fmt --all --check
# rustfmt leaves comments as they are.
if LC_ALL=C.UTF-8 git grep --line-number --perl-regexp '^(?=.{101})\s*//' -- '*.rs'; then
    echo "run.sh: these comments have lines of more than 100 characters" >&2
    exit 1
fi
cargo clippy --workspace --all-targets --quiet -- -D warnings
# Optimizing the program as a whole keeps one core busy, building the tests the other one.
released=$(mktemp)
trap 'rm -f "$released"' EXIT
src/release.sh >"$released" &
cargo test --workspace --no-run --quiet
wait $!
ORIAS_RELEASED=$(cat "$released")
export ORIAS_RELEASED
tests/count.sh bash -c 'cargo test --workspace --no-fail-fast; code=$?; tests/python/run.sh || code=$?; exit $code'
