#!/usr/bin/env bash
# portable_build.sh ROOT WORK CMAKE CC: builds the library as on a processor other than x86-64, without the files
# for AVX2 and AVX-512, and runs a product with it.
set -eu
root=$1 work=$2/portable cmake=$3 cc=$4
. "$root/tests/install/lib.sh"

rm -rf "$work"
mkdir -p "$work"
if ! { "$cmake" -S "$root" -B "$work/build" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_FLAGS=-O0 -DSPRY_TARGET_IS_X86_64=OFF -DSPRY_WERROR=ON -DSPRY_BUILD_CLI=OFF -DSPRY_BUILD_TESTS=OFF \
    -DSPRY_BUILD_PEERS=OFF -DSPRY_CUDA=OFF &&
    "$cmake" --build "$work/build"; } >"$work/log" 2>&1; then
    cat "$work/log" >&2
    exit 1
fi
if find "$work/build" -name '*_avx*.o' | grep .; then
    echo "the files above were compiled for a processor that cannot run them" >&2
    exit 1
fi

"$cc" -std=c17 -I "$root/include" -o "$work/time_loop" "$root/examples/time_loop.c" -L "$work/build" -lspry
LD_LIBRARY_PATH=$work/build expect_time_loop "$work/time_loop"
