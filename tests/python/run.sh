#!/usr/bin/env bash
# Builds the Python package with a quick profile, installs it into a virtual environment of its own (target/python/tests) and runs
# its tests; arguments are pytest's. What it counts is added by tests/count.sh. Where there is no Python that takes it, or PyPI
# cannot be reached, all tests are skipped, which CI does not forgive (tests/count.sh).
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=target/python/tests
skip() {
    count=$(cat tests/python/test_*.py | grep -c '^def test_')
    for i in $(seq "$count"); do
        [ -z "${ORIAS_SKIPS:-}" ] || printf 'pytest\t%s\t%s\n' "$i" "$1" >> "$ORIAS_SKIPS"
    done
    echo "skipped: $1"
    echo "test result: ok. $count passed; 0 failed; 0 ignored"
    exit 0
}
python=""
for name in python3 python3.13 python3.12 python3.11 python3.10 python3.9; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys, venv, ensurepip; sys.exit(not (3, 9) <= sys.version_info < (3, 14))' 2>/dev/null; then
        python=$name
        break
    fi
done
[ -n "$python" ] || skip "no python3 of version 3.9 to 3.13 with venv"
[ -x "$environment/bin/pip" ] || "$python" -m venv "$environment"
pip=("$environment/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install -r tests/python/requirements.txt || skip "no packages from PyPI (tests/python/requirements.txt)"
# A build that fails is counted as a test that does.
trap 'echo "test result: FAILED. 0 passed; 1 failed; 0 ignored"' ERR
wheel=$(src/python/build.sh --profile dev --python "$python")
"${pip[@]}" install --force-reinstall --no-deps "$wheel"
# They compare with the program; asked for beside the module, it is linked with what was built for that.
cargo build --quiet -p orias -p orias-python --bin orias
trap - ERR
exec "$environment/bin/python" -m pytest -p no:cacheprovider -q tests/python "$@"
