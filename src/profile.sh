#!/usr/bin/env bash
# Makes the profile by which src/release.sh builds: which functions compiles run, and which ways through them they go. It is
# src/profile/rustc-VERSION.profdata.xz, for this version of rustc alone. Of what is built by it, rustc-VERSION.order.xz says which
# pieces compiles touch, which the linker puts beside each other. Make both again when much code has moved: what has changed since
# is built without them, and is no less right.
#
# Trained on the corpus at several levels, on the shapes of tests/speed at small sizes, on a little of the other commands, and on nothing
# that is measured as real modules (tests/nvcc, tests/triton).
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$HOME/.cargo/bin"
target=x86_64-unknown-linux-musl
rustup --quiet component add llvm-tools
profdata=$(find "$(rustc --print sysroot)" -name llvm-profdata | head -n 1)
version=$(rustc --version | cut -d ' ' -f 2)
folder=$PWD/target/profile
rm -rf "$folder/raw"
mkdir -p "$folder/raw"

# A folder of its own: the release's is not to be built again for this.
CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-Cprofile-generate=$folder/raw" \
    cargo build --release --quiet --package orias --bin orias --target $target --target-dir "$folder/build"
orias=$folder/build/$target/release/orias
cargo build --quiet --package orias-speed
speed=target/debug/orias-speed

compile() { "$orias" -arch=sm_90a --split-compile=1 "$@" -o "$folder/out.cubin" >/dev/null 2>&1 || true; }
for ptx in tests/corpus/*/*.ptx; do
    compile -O3 "$ptx"
    compile -O3 -v -lineinfo "$ptx"
    compile -O1 "$ptx"
done
for ptx in tests/corpus/*/*.ptx; do compile -O0 "$ptx"; done
for ptx in tests/coverage/sm_90a/*.ptx; do compile "$ptx"; done
shapes="kernels=300 straight=4000 diamonds=2000 loops=300 chain=1000 switch=300 pressure=300 calls=100 labels=1000"
for shape in $shapes; do
    "$speed" shape "${shape%=*}" "${shape#*=}" > "$folder/shape.ptx"
    compile "$folder/shape.ptx"
    # As huge functions are compiled.
    compile --knob PieceInstructions=128 "$folder/shape.ptx"
done
for name in vecadd sha256 tri_softmax; do
    compile "tests/corpus/$name/$name.ptx"
    "$orias" dis "$folder/out.cubin" > /dev/null
    "$orias" dis --json "$folder/out.cubin" > /dev/null
done
kernel=tests/corpus/vecadd
compile $kernel/vecadd.ptx
for file in $kernel/vecadd.ptx "$folder/out.cubin"; do
    "$orias" sim "$file" --entry vecadd --grid 4 --block 256 --arg in=$kernel/n1000.a.bin --arg in=$kernel/n1000.b.bin \
        --arg "out=4000:$folder/out.bin" --arg u32=1000
done
"$orias" --version > /dev/null

"$profdata" merge --output "$folder/orias.profdata" "$folder/raw"
mkdir -p src/profile
rm -f src/profile/*.profdata.xz
xz -9 --stdout "$folder/orias.profdata" > "src/profile/rustc-$version.profdata.xz"

export ORIAS_MAP=$folder/orias.map
orias=$(src/release.sh)
cargo build --release --quiet --package orias-speed
target/release/orias-speed order --orias "$orias" --map "$ORIAS_MAP" --to "$folder/orias.order" tests/corpus \
    $(printf -- '--shape %s ' $shapes) --shape straight=40000 --shape straight=100000 --shape diamonds=7000 # one of them alone is huge, and goes ways of its own
rm -f src/profile/*.order.xz
xz -9 --stdout "$folder/orias.order" > "src/profile/rustc-$version.order.xz"
ls -l src/profile
