#!/usr/bin/env bash
# abi.sh --check|--write ROOT WORK CC: compares the binary interface that the public headers declare, functions and the
# types they reach, with the recorded one of this SONAME (tests/install/spry.abi), or records it. Every change is told,
# additions too, which the one who records them has to look at. Needs libabigail (abidw, abidiff). That the library
# exports these functions is another test's matter (check_exports.sh).
set -eu
mode=$1 root=$2 work=$3/abi cc=$4
here=$root/tests/install

if ! command -v abidiff >/dev/null; then
    echo "abidiff is not installed (Debian, Ubuntu: abigail-tools)"
    exit 77
fi

# A library of the declared functions without their work, with debugging information.
rm -rf "$work"
mkdir -p "$work"
{
    echo '#include "spry/solve.h"'
    echo '#include "spry/tools.h"'
    awk '/SPRY_API / && !/define/ { inside = 1 }
         inside && sub(/;( *\/[*].*)?$/, " { __builtin_trap(); }") { print; inside = 0 }
         inside' "$root"/include/spry/*.h
} >"$work/interface.c"
"$cc" -std=c17 -g -w -fPIC -shared -fdebug-prefix-map="$root"=. -fdebug-prefix-map="$work"=. -I "$root/include" \
    -Wl,-soname,libspry.so -o "$work/libspry.so" "$work/interface.c"

if [ "$mode" = --write ]; then
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --out-file "$here/spry.abi" "$work/libspry.so"
    exit
fi
status=0
abidiff --harmless --no-show-locs "$here/spry.abi" "$work/libspry.so" || status=$?
if [ $status != 0 ]; then
    {
        echo "The headers are not those recorded (abidiff: $status). Where programs of this SONAME still run, as after"
        echo "a new function, enumerator or field at the end of a struct with struct_size: abi.sh --write."
    } >&2
    exit 1
fi
