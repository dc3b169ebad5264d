# shellcheck shell=bash disable=SC2154 # $program is the script that sources this
# Sourced by ./quickstart and ./check: finds out what is missing on Debian or Ubuntu and installs it with apt.
# What is looked for is the tool or the library itself, not the package: it may have come another way.

missing=() # packages to install
reasons=() # and what for, one line each

need() # PACKAGE WHAT-FOR
{
    missing+=("$1")
    reasons+=("$1: $2")
}

# version_at_least HAVE WANT
version_at_least()
{
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# compiles LANGUAGE COMPILER FLAG... <SOURCE: whether the program on standard input compiles and links.
compiles()
{
    local folder status=0 language=$1
    shift
    folder=$(mktemp -d)
    "$@" -x "$language" - -o "$folder/program" >/dev/null 2>&1 || status=1
    rm -rf "$folder"
    return $status
}

has_module() # MODULE: known to pkg-config
{
    command -v pkg-config >/dev/null && pkg-config --exists "$1"
}

# What the library and the command line need.
need_build_tools()
{
    if ! compiles c gcc -std=c17 -fopenmp <<<$'#include <stdio.h>\nint main(void) { return 0; }'; then
        need build-essential "C compiler, with OpenMP for the benchmark's peers"
    fi
    if ! command -v cmake >/dev/null; then
        need cmake "build system"
    fi
    command -v ninja >/dev/null || need ninja-build "runs the build"
    command -v pkg-config >/dev/null || need pkg-config "finds libraries"
    has_module zlib || need zlib1g-dev "reads .mtx.gz"
    compiles c gcc -fsyntax-only <<<'#include <xxhash.h>' || need libxxhash-dev "checksums of containers"
    compiles c gcc -fsyntax-only <<<'#include <minizip/unzip.h>' || need libminizip-dev "reads .npz of SciPy"
    has_module libpng || need libpng-dev "pictures of spry reorder"
    has_module libcurl || need libcurl4-openssl-dev "spry fetch"
    has_module libarchive || need libarchive-dev "spry fetch; reads .bz2, .xz, .zst"
    has_module libcjson || need libcjson-dev "JSON records of the benchmark"
}

check_cmake_version()
{
    local have
    have=$(cmake --version | sed -n '1s/.*version //p')
    if ! version_at_least "$have" 3.25; then
        echo "$program: cmake $have is too old, 3.25 or later is needed (Debian 12 and Ubuntu 24.04 have it)" >&2
        exit 1
    fi
}

# run_as_root COMMAND...
run_as_root()
{
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# install_missing: installs what need() collected, saying what; ends the script when it cannot.
install_missing()
{
    if [ ${#missing[@]} = 0 ]; then
        return
    fi
    echo "$program: missing on this machine:"
    printf '    %s\n' "${reasons[@]}"

    if ! command -v apt-get >/dev/null; then
        echo "$program: this system has no apt-get; install what the list above names in your own way, then run it again" >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        echo "$program: not root, and there is no sudo. Ask for this to be run, then run $program again:" >&2
        echo "    apt-get install ${missing[*]}" >&2
        exit 1
    fi
    echo "$program: apt-get install ${missing[*]}"

    local log
    log=$(mktemp)
    # Fresh lists first: those of a new machine are empty or name versions that are gone.
    if ! run_as_root apt-get update -q </dev/null >"$log" 2>&1 ||
        ! run_as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}" \
            </dev/null >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "$program: apt-get failed, see above. Install ${missing[*]} by hand, then run $program again" >&2
        exit 1
    fi
    rm -f "$log"
    missing=() reasons=()
}

# The version of clang that the package clang stands for, "14" on Debian 12.
clang_of_distribution()
{
    # A new machine's lists are empty.
    if [ -z "$(apt-cache depends clang 2>/dev/null)" ]; then
        run_as_root apt-get update -q </dev/null >/dev/null 2>&1 || true
    fi
    local major
    major=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9][0-9]*\)$/\1/p' | head -n 1)
    echo "${major:-14}" # Debian 12's, where the lists cannot tell
}
