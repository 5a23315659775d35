#!/usr/bin/env bash
# Every C file that is tracked is as clang-format makes it.
set -eu
cd "${LEAT_SOURCE_DIR:-$(dirname "$0")/../..}"
format=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$format" ] || ! "$format" --version | grep -q 'version 14\.'; then
    echo "SKIPPED: clang-format 14 is not here (cmake/setup.sh installs it)"
    exit 77
fi
if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    echo "SKIPPED: not a git work tree, so the tracked files are not known"
    exit 77
fi
git ls-files -z '*.c' '*.h' '*.cc' | xargs -0 "$format" --dry-run -Werror
# It must be seen to find something, too.
if printf 'int  a ;\n' | "$format" --dry-run -Werror --assume-filename=a.c 2>/dev/null; then
    echo "clang-format accepts what is not formatted"
    exit 1
fi
