#!/usr/bin/env bash
# portable_build.sh ROOT WORK CMAKE CC: builds the library for a processor other than x86-64, in the CMake project that
# docs/how-to/build-variants.md shows. Programs of this build do not run on this machine. Runs a product with the
# library, linked in each way that the page shows.
set -eu
root=$1 work=$2/portable cmake=$3 cc=$4
. "$root/tests/install/lib.sh"
page=$root/docs/how-to/build-variants.md

rm -rf "$work"
mkdir -p "$work/project"
ln -s "$root" "$work/project/spry"
cp "$root/examples/time_loop.c" "$work/project/program.c"
{
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(program C)\nadd_executable(program program.c)\n'
    sed -n '/^```cmake$/,/^```$/{/^```/d;p}' "$page"
} >"$work/project/CMakeLists.txt"
# The toolchain's programs need a loader that this machine lacks.
printf '%s\n' 'set(CMAKE_SYSTEM_NAME Linux)' 'set(CMAKE_SYSTEM_PROCESSOR other)' "set(CMAKE_C_COMPILER $cc)" \
    'set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--dynamic-linker=/another/machine/ld.so")' >"$work/toolchain.cmake"

if ! { "$cmake" -S "$work/project" -B "$work/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O0 -DSPRY_TARGET_IS_X86_64=OFF -DSPRY_WERROR=ON -DSPRY_CUDA=OFF &&
    "$cmake" --build "$work/build" --target spry program; } >"$work/log" 2>&1; then
    cat "$work/log" >&2
    exit 1
fi
if find "$work/build" -name '*_avx*.o' | grep .; then
    echo "the files above were compiled for a processor that cannot run them" >&2
    exit 1
fi
if "$work/build/program" >"$work/log" 2>&1; then
    echo "$work/build/program runs on this machine: the build was no cross build" >&2
    exit 1
fi

library=$(find "$work/build" -name libspry.so -printf '%h\n')
"$cc" -std=c17 -I "$root/include" -o "$work/time_loop" "$root/examples/time_loop.c" -L "$library" -lspry
LD_LIBRARY_PATH=$library expect_time_loop "$work/time_loop"

# Runs the page's line that links the static library, in a folder with the files that the line names.
mkdir -p "$work/static/build"
ln -s "$root/include" "$work/static/include"
ln -s "$(find "$work/build" -name libspry_static.a)" "$work/static/build"
cp "$root/examples/time_loop.c" "$work/static/program.c"
line=$(grep '^cc .*libspry_static\.a' "$page")
(cd "$work/static" && eval "${line/#cc/$cc} -o program")
expect_time_loop "$work/static/program"

# A project without a build type gets an optimised library.
"$cmake" -S "$work/project" -B "$work/untyped" -G Ninja -DCMAKE_C_COMPILER="$cc" -DSPRY_CUDA=OFF >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}
if ! grep -A6 'csr_portable_cpu.c.o:' "$work/untyped/build.ninja" | grep -q 'FLAGS.* -O3'; then
    echo "the library is compiled without optimisation in a project that sets no CMAKE_BUILD_TYPE" >&2
    exit 1
fi
