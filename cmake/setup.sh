#!/usr/bin/env bash
# Gets what leat is built and tested with.  Prints nothing where everything is there.
#
# usage: cmake/setup.sh [--check]
#   --check  installs nothing; says what is missing and exits 1
#
# Debian and Ubuntu: missing packages are installed (as root).  Machines with environment modules: says what to load.
set -euo pipefail
cd "$(dirname "$0")/.."

# How a thing is known to be there, and the Debian package that brings it.
needs="
command:cc             gcc
command:c++            g++
command:cmake          cmake
command:ninja          ninja-build
command:git            git
command:python3        python3
command:pkg-config     pkg-config
command:mpicc          libopenmpi-dev
command:mpirun         openmpi-bin
header:openssl/evp.h   libssl-dev
header:hdf5/serial/hdf5.h,hdf5.h  libhdf5-dev
header:yaml.h          libyaml-dev
header:simdjson.h      libsimdjson-dev
header:xxhash.h        libxxhash-dev
command:clang          clang
sanitizer:clang        libclang-rt-14-dev
command:clang-format-14,clang-format  clang-format-14
command:ccache         ccache
python:venv,ensurepip  python3-venv
"
python_package=tokenizers==0.22.2 # the reference that the tokenizer is tested against

has_header() {
    printf '#include <%s>\n' "$1" | cc -E -x "${2:-c}" - >/dev/null 2>&1
}

is_there() {
    local kind=${1%%:*} names=${1#*:} name
    if [ "$kind" = python ]; then
        python3 -c "import $names" 2>/dev/null
        return
    elif [ "$kind" = sanitizer ]; then
        echo 'int main(void) { return 0; }' | "$names" -fsanitize=thread -x c -o /dev/null - 2>/dev/null
        return
    fi
    for name in ${names//,/ }; do
        case $kind in
        command) command -v "$name" >/dev/null && return 0 ;;
        header) { has_header "$name" || has_header "$name" c++; } && return 0 ;;
        esac
    done
    return 1
}

missing_packages() {
    local what package
    while read -r what package; do
        [ -z "$what" ] || is_there "$what" || printf '%s ' "$package"
    done <<<"$needs"
}

has_modules() {
    [ -n "${LMOD_CMD:-}${MODULESHOME:-}" ]
}

install() {
    if [ "$(id -u)" -ne 0 ]; then
        echo "leat needs: $1" >&2
        has_modules && echo "on this cluster perhaps: module load gcc cmake ninja openmpi hdf5" >&2
        echo "as root: sudo apt-get install -y $1" >&2
        exit 1
    fi
    echo "installing: $1"
    local log
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # a list of packages
    if ! { apt-get update && apt-get install -y --no-install-recommends $1; } >"$log" 2>&1 </dev/null; then
        tail -n 30 "$log" >&2
        rm -f "$log"
        echo "apt-get could not install them" >&2
        exit 1
    fi
    rm -f "$log"
}

# Into build/python, which cmake/test.sh puts in front of PATH: the system's Python is left alone.
install_python_package() {
    python3 -c 'import tokenizers' 2>/dev/null && return 0
    [ -x build/python/bin/python3 ] && build/python/bin/python3 -c 'import tokenizers' 2>/dev/null && return 0
    echo "installing: $python_package into build/python"
    if ! { python3 -m venv build/python && build/python/bin/python3 -m pip install --quiet \
        --disable-pip-version-check "$python_package"; } >build/python.log 2>&1 </dev/null; then
        echo "it could not be installed (build/python.log); the tests against it are skipped" >&2
    fi
}

# For the tests alone, so no reason to stop where it cannot be had.
install_slurm() {
    [ -x /usr/sbin/slurmctld ] && [ -x /usr/sbin/slurmd ] && [ -x /usr/sbin/munged ] && return 0
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null && (install "slurm-wlm munge"); then
        return 0
    fi
    echo "without slurm-wlm and munge the tests with Slurm are skipped" >&2
}

missing=$(missing_packages)
missing=${missing% }
if [ -n "$missing" ]; then
    if [ "${1:-}" = --check ]; then
        echo "missing: $missing"
        exit 1
    fi
    if ! command -v apt-get >/dev/null; then
        echo "leat needs what these Debian packages bring: $missing" >&2
        has_modules && echo "on this cluster perhaps: module load gcc cmake ninja openmpi hdf5" >&2
        exit 1
    fi
    install "$missing"
    missing=$(missing_packages)
    if [ -n "$missing" ]; then
        echo "installed, and yet not found: $missing" >&2
        exit 1
    fi
fi
[ "${1:-}" = --check ] && exit 0
install_slurm
mkdir -p build
install_python_package
