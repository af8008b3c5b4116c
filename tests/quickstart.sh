#!/usr/bin/env bash
# Installs what orias needs, builds it, and shows it at work on a real kernel: the README's first command.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$HOME/.cargo/bin"
tests/rust.sh
orias=$(src/release.sh)
kernel=tests/corpus/vecadd
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

echo "== compile $kernel/vecadd.ptx"
"$orias" -arch=sm_90a -O3 -v "$kernel/vecadd.ptx" -o "$out/vecadd.cubin"
echo "== its machine code"
"$orias" dis "$out/vecadd.cubin" | sed -n '/Function : vecadd/,$p'
echo "== run it in the simulator: c = a + b"
"$orias" sim "$out/vecadd.cubin" --entry vecadd --grid 4 --block 256 --json \
    --arg "in=$kernel/n1000.a.bin" --arg "in=$kernel/n1000.b.bin" \
    --arg "out=4000:$out/c.bin" --arg u32=1000
cmp "$out/c.bin" "$kernel/n1000.c.expect.bin"
echo "== right: all 1000 sums are what was expected"
