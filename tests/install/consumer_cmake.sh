#!/usr/bin/env bash
# consumer_cmake.sh ROOT PREFIX WORK CMAKE CC: builds and runs the examples with find_package(Spry).
set -eu
root=$1 prefix=$2 work=$3/consumer-cmake cmake=$4 cc=$5

rm -rf "$work"
"$cmake" -S "$root/examples" -B "$work" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="-Wall -Wextra -Wpedantic -Werror" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Werror" >"$work.log"
"$cmake" --build "$work" >"$work.log" || {
    cat "$work.log" >&2
    exit 1
}
ctest=${cmake%cmake}ctest
"$ctest" --test-dir "$work" --output-on-failure --no-tests=error

# The package must refuse a version that it is not compatible with.
for wanted in 0.9 1.0; do
    rm -rf "$work-$wanted"
    if "$cmake" -S "$root/tests/install/consumer" -B "$work-$wanted" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$cc" -DCONSUMER_WANTS=$wanted >"$work.log" 2>&1; then
        echo "find_package(Spry $wanted) accepted this version" >&2
        exit 1
    elif ! grep -q 'requested version' "$work.log"; then
        cat "$work.log" >&2
        exit 1
    fi
done
