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
    of=src/profile/rustc-$(rustc --version | cut -d ' ' -f 2)
    # Unpacks a file of the profile; its name says what it is, so that another one is another build.
    unpack() {
        [ -f "$of.$1.xz" ] || return 0
        local unpacked
        unpacked=$PWD/target/dist/$(cksum < "$of.$1.xz" | cut -d ' ' -f 1).$1
        [ -f "$unpacked" ] || { xz --decompress --stdout "$of.$1.xz" > "$unpacked.new" && mv "$unpacked.new" "$unpacked"; }
        find target/dist -name "*.$1" ! -path "*/${unpacked##*/}" -delete
        echo "$unpacked"
    }
    profdata=$(unpack profdata)
    if [ -n "$profdata" ]; then
        # What has changed since the profile was made is built without it. Of each function what never ran stands apart from the rest.
        # By default LLVM takes away what ran rarely, too, which small compiles want.
        export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-Cprofile-use=$profdata -Cllvm-args=-no-pgo-warn-mismatch \
            -Cllvm-args=-enable-split-machine-functions -Cllvm-args=-mfs-psi-cutoff=0 -Cllvm-args=-mfs-count-threshold=1"
        # What compiles touch stands together: a small one has a quarter fewer page faults, each of some three microseconds.
        ORIAS_ORDER=$(unpack order)
        [ -z "$ORIAS_ORDER" ] || export ORIAS_ORDER
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
# The old one may be running. Written at once, Linux (ext4 from 6.16 on, XFS) keeps the file in huge pages, and maps the program by them:
# a small compile takes a tenth less time, most of it for addresses that need not be looked up page by page. Whoever copies the program
# does well to do the same; in pieces it is as it was.
give() { dd "if=$1" "of=target/dist/$2.new" bs=64M status=none && chmod +x "target/dist/$2.new" && mv "target/dist/$2.new" "target/dist/$2"; }
give "$built" orias
if [ "${1:-}" = --gpu ]; then
    cargo build --release --quiet --package orias-gpu
    give target/release/orias-gpu orias-gpu
fi
echo "$PWD/target/dist/orias"
