# shellcheck shell=bash disable=SC2154 # $program is the script that sources this
# Sourced by ./quickstart --peers: the libraries that the benchmark compares with.
#   MKL    from PyPI, pinned, into .peers/venv (headers in include/, libraries in lib/)
#   Eigen  from the distribution

mkl_version=2026.2.0
peers_venv=.peers/venv

need_peer_tools()
{
    python3 -c 'import ensurepip, venv' 2>/dev/null || need python3-venv "Python's pip, which gets MKL"
    compiles c++ g++ <<<'int main() { return 0; }' || need g++ "C++ compiler for the Eigen module"
    has_module eigen3 || need libeigen3-dev "Eigen, a peer"
}

# get_peers: MKL into the venv, unless it is there. Without network the build goes on without MKL, and says so.
get_peers()
{
    local stamp=$peers_venv/mkl-$mkl_version
    if [ -f "$stamp" ]; then
        return
    fi
    case $(uname -m) in
    x86_64 | amd64) ;;
    *) echo "$program: MKL is made for x86-64 only; going on without it" >&2; return ;;
    esac
    echo "$program: getting MKL $mkl_version from PyPI into $peers_venv"
    if { [ -x "$peers_venv/bin/python" ] || python3 -m venv "$peers_venv"; } &&
        "$peers_venv/bin/python" -m pip install --quiet --disable-pip-version-check \
            "mkl==$mkl_version" "mkl-include==$mkl_version"; then
        touch "$stamp"
    else
        echo "$program: MKL could not be had (see above: no network, or no room?); going on without it." >&2
        echo "$program: run ./quickstart --peers again to get it; the benchmark lists it as skipped until then" >&2
    fi
}
