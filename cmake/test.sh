#!/usr/bin/env bash
# Sets up, builds and tests leat.  Everything goes to build/; the last line but the list of skipped tests is ctest's own.
#
# usage: cmake/test.sh [CTEST OPTION…]     e.g. cmake/test.sh -L unit
set -euo pipefail
cd "$(dirname "$0")/.."
cmake/setup.sh
[ -d build/python/bin ] && PATH="$PWD/build/python/bin:$PATH"

# Prints what a step says only where it fails.
quietly() {
    local log=build/$1.log
    shift
    "$@" >"$log" 2>&1 </dev/null || {
        cat "$log"
        exit 1
    }
}
quietly configure cmake --preset release
quietly build cmake --build --preset release -j "$(nproc)"
exec ctest --test-dir build/release -j 2 --output-on-failure "$@"
