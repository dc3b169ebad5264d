# shellcheck shell=bash disable=SC2154 # $program is the script that sources this
# Sourced by ./quickstart --peers: installs the libraries that the benchmark compares with.
#   MKL         from PyPI, pinned, into .peers/venv (headers in include/, libraries in lib/)
#   SciPy       from PyPI, pinned, into the same folder; the module process measures it
#   Matplotlib  from PyPI, pinned, into the same folder, for the figures of study/run
#   Eigen, librsb, SuiteSparse:GraphBLAS, PETSc   from the distribution

mkl_version=2026.2.0
scipy_version=1.17.1
matplotlib_version=3.11.2
peers_venv=.peers/venv

need_peer_tools()
{
    python3 -c 'import ensurepip, venv' 2>/dev/null || need python3-venv "Python's pip, which gets MKL"
    compiles c++ g++ <<<'int main() { return 0; }' || need g++ "C++ compiler for the Eigen module"
    has_module eigen3 || need libeigen3-dev "Eigen, a peer"
    has_module librsb || need_if_available librsb-dev librsb
    compiles c gcc -fsyntax-only <<<'#include <GraphBLAS.h>' ||
        compiles c gcc -fsyntax-only <<<'#include <suitesparse/GraphBLAS.h>' ||
        need_if_available libgraphblas-dev SuiteSparse:GraphBLAS
    has_module PETSc || need_if_available petsc-dev PETSc
}

# Adds a package if the distribution has it. If not, reports it; the build continues without it.
need_if_available() # PACKAGE NAME
{
    if ! command -v apt-get >/dev/null; then
        return
    fi
    # A new machine's package lists are empty.
    if [ -z "$(apt-cache policy "$1" 2>/dev/null)" ] && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }; then
        run_as_root apt-get update -q </dev/null >/dev/null 2>&1 || true
    fi
    if apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [0-9]'; then
        need "$1" "$2, a peer"
    else
        echo "$program: this distribution has no $1; continuing without it, the benchmark lists it as skipped" >&2
    fi
}

# get_peers: installs the packages from PyPI if they are missing. If that fails, reports it and continues.
get_peers()
{
    case $(uname -m) in
    x86_64 | amd64) get_wheels MKL "mkl-$mkl_version" "mkl==$mkl_version" "mkl-include==$mkl_version" ;;
    *) echo "$program: MKL supports only x86-64; continuing without it" >&2 ;;
    esac
    get_wheels SciPy "scipy-$scipy_version" "scipy==$scipy_version"
    get_wheels Matplotlib "matplotlib-$matplotlib_version" "matplotlib==$matplotlib_version"
}

get_wheels() # NAME STAMP REQUIREMENT...
{
    local name=$1 stamp=$peers_venv/$2
    shift 2
    if [ -f "$stamp" ]; then
        return
    fi
    echo "$program: getting $* from PyPI into $peers_venv"
    if { [ -x "$peers_venv/bin/python" ] || python3 -m venv "$peers_venv"; } &&
        "$peers_venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; then
        touch "$stamp"
    else
        echo "$program: $name could not be installed (see above: no network, or disk full?); continuing without it." >&2
        echo "$program: run ./quickstart --peers again to install it" >&2
    fi
}
