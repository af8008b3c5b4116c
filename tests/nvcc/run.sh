#!/usr/bin/env bash
# Compiles real modules of nvcc with orias and with ptxas, and compares: see README.md.
#
#   tests/nvcc/run.sh                       all: the PTX, CPU time in turns, then code
#   tests/nvcc/run.sh -- --turns 5          arguments behind `--` go to `orias-speed compare`
#   tests/nvcc/run.sh --ptx FOLDER [WORD…]  only the PTX; of modules whose name has one of the words
#   NVCC_HEADERS=…                          site-packages with the headers; else below target/nvcc
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/target/nvcc
oracle=${ORIAS_ORACLE:-$root/.oracle/bin}
# What the wrappers are written against. Headers alone are used, and no library of them.
packages="nvidia-cuda-cccl==13.0.85 nvidia-cutlass==4.2.0.0 nvidia-curand==10.4.0.35 nvidia-mathdx==25.6.0
    flashinfer-python==0.7.2.post1"

ptx=$work/ptx
compare=yes
words=()
if [ "${1:-}" = --ptx ]; then
    ptx=${2:?a folder}
    compare=no
    shift 2
    words=("$@")
elif [ "${1:-}" = -- ]; then
    shift
elif [ $# != 0 ]; then
    # Also for --help: all of it takes many minutes.
    sed -n '2,/^set/{s/^# \{0,1\}//;/^set/!p}' "${BASH_SOURCE[0]}" >&2
    [ "$1" = --help ]
    exit
fi
[ -x "$oracle/nvcc" ] || { echo "run.sh: no nvcc in $oracle: tests/oracle.sh installs it" >&2; exit 1; }

headers=${NVCC_HEADERS:-}
if [ -z "$headers" ]; then
    if [ "$(cat "$work/installed" 2>/dev/null)" != "$packages" ]; then
        python3 -m venv "$work/venv"
        # shellcheck disable=SC2086 # a list of words
        "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps $packages
        printf '%s\n' "$packages" >"$work/installed"
    fi
    headers=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
fi
flashinfer=$headers/flashinfer/data
cutlass=$headers/cutlass_library/source
mathdx=$headers/nvidia/mathdx
toolkit=("$headers"/nvidia/cu13/include{/cccl,} "$cutlass/include" "$mathdx/include")
# FlashInfer brings the CUB and CUTLASS that it is written against.
theirs=("$flashinfer"/{include,cccl/libcudacxx/include,cccl/cub,cccl/thrust,cutlass/include,cutlass/tools/util/include}
    "$headers/nvidia/cu13/include")
for folder in "${toolkit[@]}" "${theirs[@]}"; do
    [ -d "$folder" ] || { echo "run.sh: no folder $folder" >&2; exit 1; }
done
flags=(-ptx -arch=sm_90a -std=c++17 --expt-relaxed-constexpr --extended-lambda -w -DNDEBUG)

wanted() {
    [ ${#words[@]} != 0 ] || return 0
    for word in "${words[@]}"; do
        case $1 in *"$word"*) return 0 ;; esac
    done
    return 1
}

# A line `// module NAME FLAGS` at the head of a text is one module.
mkdir -p "$ptx"
[ ${#words[@]} != 0 ] || rm -f "$ptx"/*.ptx
rm -f "$ptx"/*.log
jobs=$(mktemp)
trap 'rm -f "$jobs"' EXIT
count=0
for text in "$here"/modules/*.cu; do
    folders=("${toolkit[@]}")
    case $text in */flash*) folders=("${theirs[@]}") ;; esac
    while read -r name given; do
        wanted "$name" || continue
        # The flags are quoted as in a shell.
        echo "\"\$@\" $(printf -- "-I '%s' " "${folders[@]}") $given '$text' -o '$ptx/$name.ptx'" \
            "2>'$ptx/$name.log' && rm '$ptx/$name.log'" >>"$jobs"
        count=$((count + 1))
    done < <(sed -n 's|^// module ||p' "$text")
done
# NVCC_APPEND_FLAGS of the user would change what is compiled.
export -n NVCC_APPEND_FLAGS NVCC_PREPEND_FLAGS 2>/dev/null || true
xargs -d '\n' -P "$(nproc)" -I {} bash -c '{}' bash "$oracle/nvcc" "${flags[@]}" <"$jobs" || true
failed=0
for log in "$ptx"/*.log; do
    [ -e "$log" ] || continue
    failed=$((failed + 1))
    echo "$(basename "$log" .log): $(grep -m 1 error "$log" || head -n 1 "$log")" >&2
done
echo "nvcc: $((count - failed)) of $count modules written to $ptx"
[ $failed = 0 ] || exit 1
[ "$compare" = yes ] || exit 0
cd "$root"
cargo build --release --quiet -p orias -p orias-isa
tests/speed/run.sh "$ptx" --rows "$@"
exec target/release/orias-isa compare "$ptx" --brief --no-run
