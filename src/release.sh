#!/usr/bin/env bash
# Builds orias as it is given to others, and prints where it is: target/dist/orias.
#
#   src/release.sh
#   src/release.sh --gpu        orias-gpu beside it, which `orias run` starts: it loads the driver, and is for this machine
#
# It has musl in it, and so needs no library of the machine that it runs on; and it starts sooner. (glibc asks the processor some
# sixty things before `main`, each of them a call of the host on a virtual machine.) Where Rust's target for musl cannot be had, it
# is what `cargo build --release` makes. It is built by a profile (src/profile.sh) where there is one of this version of rustc.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$HOME/.cargo/bin"
target=x86_64-unknown-linux-musl
mkdir -p target/dist
has() { [ -d "$(rustc --print target-libdir --target $target)" ]; }
if [ "$(uname -sm)" = "Linux x86_64" ] && { has || rustup --quiet target add $target >&2; } && has; then
    profile=src/profile/rustc-$(rustc --version | cut -d ' ' -f 2).profdata.xz
    # Named by what it is, so that another one is another build.
    unpacked=$PWD/target/dist/$(cksum < "$profile" 2>/dev/null | cut -d ' ' -f 1).profdata
    if [ -f "$unpacked" ] || { [ -f "$profile" ] && xz --decompress --stdout "$profile" > "$unpacked.new" && mv "$unpacked.new" "$unpacked"; }; then
        find target/dist -name '*.profdata' ! -path "*/${unpacked##*/}" -delete
        # What has changed since the profile was made is built without it. Of each function what never ran stands apart from the rest
        # (src/profile/order.ld says where): so the code that compiles run is 2.4 MB in place of 3.7, and a small one has a tenth fewer
        # page faults, each of some three microseconds. By default LLVM takes away what ran rarely, too, which small compiles want.
        export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-Cprofile-use=$unpacked -Cllvm-args=-no-pgo-warn-mismatch \
            -Cllvm-args=-enable-split-machine-functions -Cllvm-args=-mfs-psi-cutoff=0 -Cllvm-args=-mfs-count-threshold=1"
    else
        echo "release.sh: no profile for this rustc: the program takes up to a third more time" >&2
    fi
    cargo build --release --quiet --package orias --bin orias --target $target
    built=target/$target/release/orias
else
    echo "release.sh: no $target here: a program that needs this machine's C library" >&2
    cargo build --release --quiet --package orias --bin orias
    built=target/release/orias
fi
# The old one may be running.
give() { cp "$1" "target/dist/$2.new" && mv "target/dist/$2.new" "target/dist/$2"; }
give "$built" orias
if [ "${1:-}" = --gpu ]; then
    cargo build --release --quiet --package orias-gpu
    give target/release/orias-gpu orias-gpu
fi
echo "$PWD/target/dist/orias"
