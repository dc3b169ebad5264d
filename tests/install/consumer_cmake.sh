#!/usr/bin/env bash
# consumer_cmake.sh ROOT PREFIX WORK CMAKE CC: builds and runs a program with find_package(Spry).
set -eu
root=$1 prefix=$2 work=$3/consumer-cmake cmake=$4 cc=$5
. "$root/tests/install/lib.sh"

configure()
{
    "$cmake" -S "$root/tests/install/consumer" -B "$work" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_C_FLAGS="-Wall -Wextra -Wpedantic -Werror" -DCONSUMER_SOURCE="$root/examples/multiply.c" "$@"
}

rm -rf "$work"
configure >/dev/null
"$cmake" --build "$work" >/dev/null
expect_product "$work/consumer"

# A version that this one does not stand in for has to be refused.
for wanted in 0.9 1.0; do
    rm -rf "$work"
    if configure -DCONSUMER_WANTS=$wanted >"$work.log" 2>&1; then
        echo "find_package(Spry $wanted) accepted this version" >&2
        exit 1
    elif ! grep -q 'requested version' "$work.log"; then
        cat "$work.log" >&2
        exit 1
    fi
done
