# shellcheck shell=bash disable=SC2154 # $program is the script that sources this
# Sourced by ./quickstart and ./check: finds missing tools and libraries on Debian or Ubuntu and installs them with apt.
# Tests look for the tool or library itself, not the package, because it may be installed by other means.

missing=() # packages to install
reasons=() # one line per package: "PACKAGE: WHAT-FOR"

need() # PACKAGE WHAT-FOR
{
    missing+=("$1")
    reasons+=("$1: $2")
}

# version_at_least HAVE WANT: succeeds if version HAVE is WANT or later.
version_at_least()
{
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# compiles LANGUAGE COMPILER FLAG... <SOURCE: succeeds if the program on standard input compiles and links.
compiles()
{
    local folder status=0 language=$1
    shift
    folder=$(mktemp -d)
    "$@" -x "$language" - -o "$folder/program" >/dev/null 2>&1 || status=1
    rm -rf "$folder"
    return $status
}

has_module() # MODULE: succeeds if pkg-config knows MODULE
{
    command -v pkg-config >/dev/null && pkg-config --exists "$1"
}

# Adds missing tools and libraries for the library and the program.
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
        echo "$program: cmake $have is too old, expected 3.25 or later (Debian 12 and Ubuntu 24.04 have it)" >&2
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

# install_missing: lists and installs the packages that need() collected. Exits if it cannot.
install_missing()
{
    if [ ${#missing[@]} = 0 ]; then
        return
    fi
    echo "$program: missing on this machine:"
    printf '    %s\n' "${reasons[@]}"

    if ! command -v apt-get >/dev/null; then
        echo "$program: this system has no apt-get; install the packages listed above, then run $program again" >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        echo "$program: not root, and sudo is missing. Ask an administrator to run this, then run $program again:" >&2
        echo "    apt-get install ${missing[*]}" >&2
        exit 1
    fi
    echo "$program: apt-get install ${missing[*]}"

    local log
    log=$(mktemp)
    # Update package lists first: a new machine's lists are empty or outdated.
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

# Prints the version of clang that the package clang depends on, such as "14" on Debian 12.
clang_of_distribution()
{
    # A new machine's package lists are empty.
    if [ -z "$(apt-cache depends clang 2>/dev/null)" ]; then
        run_as_root apt-get update -q </dev/null >/dev/null 2>&1 || true
    fi
    local major
    major=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9][0-9]*\)$/\1/p' | head -n 1)
    echo "${major:-14}" # default: that of Debian 12
}
