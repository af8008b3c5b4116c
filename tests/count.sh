#!/usr/bin/env bash
# Runs a command that runs tests (`cargo test …`, one test binary, tests/python/run.sh) and says last, alone on a line, how many passed,
# failed and were skipped: over all `test result:` lines (tests/python/conftest.py writes one too), less the tests that ended early
# because something is missing (tests/runner/skip.rs), which the test runner counts as passed. The reasons stand before. The exit code is the command's; where CI is set, a test that
# is skipped for want of an oracle tool is a failure too.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: > "$folder/skips"
ORIAS_SKIPS="$folder/skips" "$@" 2>&1 | tee "$folder/log"
code=${PIPESTATUS[0]}
# One line a test, whatever it asked for first; a helper thread's counts where no test of its binary has a line.
skips=$(awk -F'\t' '
    $2 != "?" { named[$1] = 1 }
    !(($1, $2) in seen) { seen[$1, $2] = 1; binary[++n] = $1; test[n] = $2; why[n] = $3 }
    END { for (i = 1; i <= n; i++) if (test[i] != "?" || !named[binary[i]]) print why[i] }' "$folder/skips")
missing=$(grep -c . <<< "$skips")
case "${CI:-}" in
'' | 0 | false) ;;
*)
    if grep -q '^no ' <<< "$skips"; then
        echo "count.sh: CI is set, and tests were skipped for want of an oracle tool"
        [ "$code" -ne 0 ] || code=1
    fi
    ;;
esac
grep . <<< "$skips" | sort | uniq -c | while read -r count why; do echo "$count skipped (reason: $why)"; done
awk -v missing="$missing" '
    # test result: ok. 12 passed; 0 failed; 1 ignored; …
    /^test result: / { passed += $4; failed += $6; ignored += $8 }
    END {
        if (ignored) printf "%d skipped (reason: #[ignore])\n", ignored
        printf "%d passed, %d failed, %d skipped\n", passed - missing, failed, ignored + missing
    }' "$folder/log"
exit "$code"
