#!/usr/bin/env bash
# hpp.sh ROOT LIBRARY WORK CXX: spry.hpp has under 400 lines, and a program that uses all of it compiles and runs.
set -eu
root=$1 library=$2 work=$3 compiler=$4

lines=$(wc -l <"$root/include/spry/spry.hpp")
[ "$lines" -lt 400 ] || { echo "spry.hpp has $lines lines, expected under 400" >&2; exit 1; }
strict=(-Wall -Wextra -Wpedantic -Wconversion -Werror -I "$root/include")
"$compiler" -std=c++17 "${strict[@]}" -o "$work/hpp" "$root/tests/install/hpp.cpp" "$library"
LD_LIBRARY_PATH=$(dirname "$library") "$work/hpp"
"$compiler" -std=c++20 "${strict[@]}" -fsyntax-only "$root/tests/install/hpp.cpp" # with std::span
