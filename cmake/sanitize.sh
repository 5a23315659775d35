#!/usr/bin/env bash
# Builds the tree of one sanitizer preset and runs the tests there that stay inside one process.
#
# usage: cmake/sanitize.sh asan|tsan
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
log=build/sanitize-$preset.log
mkdir -p build
if ! { cmake --preset "$preset" && cmake --build --preset "$preset" -j 2 --target checked_programs; } >"$log" 2>&1 </dev/null; then
    tail -n 60 "$log"
    exit 1
fi
kinds='unit|property|simulation|fuzz'
[ "$preset" = tsan ] && kinds='unit|simulation' # the properties are about one thread
exec ctest --test-dir "build/$preset" -j 2 -L "^($kinds)\$" --output-on-failure --no-tests=error
