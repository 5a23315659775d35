# kit.sh: what the command's tests share.  `. "$(dirname "$0")/kit.sh"`, then `kit NAME`; at the end `kit_done`.
# A check that fails says so and counts; the test goes on, so that one run shows all.
leat=${LEAT_BINARY_DIR:?}/leat
failures=0

kit() { # a folder of the test's own, removed at the end
    work=$(mktemp -d "/tmp/leat-$1-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cd "$work" || exit 1
}
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
expect() { # wanted exit code, what, command…
    local want=$1 what=$2; shift 2
    timeout -k 5 120 "$@" >out.txt 2>err.txt
    local got=$?
    [ $got = "$want" ] || { fail "$what: exit code $got, want $want"; tail -5 err.txt; }
}
has() { grep -qF -- "$2" "$1" || { fail "want \"$2\" in $1"; head -c 2000 "$1"; echo; }; }
lacks() { ! grep -qF -- "$2" "$1" || { fail "no \"$2\" wanted in $1"; head -c 2000 "$1"; echo; }; }
same() { cmp -s "$1" "$2" || fail "$1 and $2 differ"; }
kit_done() { [ $failures = 0 ] && echo "all as expected"; }
