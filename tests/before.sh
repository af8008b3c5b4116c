#!/usr/bin/env bash
# What our code costs beside that of another commit, for each kernel of the corpus that changed.
#
#   tests/before.sh COMMIT [FOLDER…]        the table; of folders of PTX in place of the corpus
#   tests/before.sh --write FILE COMMIT …   written too, with the date and both commits
#
# The commit's `orias` is built once, below target/before, in a worktree that goes away again.
set -euo pipefail
write=
if [ "${1:-}" = --write ]; then
    write=${2:?a file}
    shift 2
fi
asked=${1:?a commit}
shift
paths=()
for path in "$@"; do paths+=("$(realpath "$path")"); done
[ -z "$write" ] || write=$(realpath "$write")
cd "$(dirname "$0")/.."
[ ${#paths[@]} != 0 ] || paths=(tests/corpus)
commit=$(git rev-parse --verify --quiet "$asked^{commit}") || {
    echo "before.sh: no commit $asked here" >&2
    exit 1
}
work=$PWD/target/before
old=$work/orias-$commit
if [ ! -x "$old" ]; then
    tree=$work/tree
    mkdir -p "$work"
    git worktree remove --force "$tree" 2>/dev/null || true
    git worktree add --quiet --detach "$tree" "$commit"
    trap 'git worktree remove --force "$tree"' EXIT
    (cd "$tree" && CARGO_TARGET_DIR=$work/build cargo build --release --quiet -p orias --bin orias)
    cp "$work/build/release/orias" "$old"
fi
compare=(cargo run --release --quiet -p orias-isa -- compare "${paths[@]}")
"${compare[@]}" --ours "$old" --tsv "$work/$commit.tsv" --brief >/dev/null
table=$("${compare[@]}" --before "$work/$commit.tsv" --changed)
printf '%s\n' "$table"
[ -n "$write" ] || exit 0
name() { git log -1 --format='%h (%s)' "$1"; }
changed=$(git status --porcelain --untracked-files=no -- src components systems targets)
{
    echo "# What changed in our code"
    echo
    echo "\`tests/before.sh --write ${write#"$PWD/"} ${asked}\`, $(date -u +%Y-%m-%d), -O3, sm_90a."
    echo "Before: $(name "$commit"). Ours: $(name HEAD)${changed:+, with changes that are in no commit}."
    echo
    printf '%s\n' "$table"
} >"$write"
