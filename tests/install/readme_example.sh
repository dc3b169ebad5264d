#!/usr/bin/env bash
# readme_example.sh ROOT PREFIX WORK PKG_CONFIG CC: the C example that README.md shows is examples/time_loop.c
# word for word, and it compiles and runs.
set -eu
root=$1 prefix=$2 work=$3/readme pkg_config=$4 cc=$5
. "$root/tests/install/lib.sh"

rm -rf "$work"
mkdir -p "$work"
awk '/^```c$/ && !done { inside = 1; next } /^```$/ && inside { inside = 0; done = 1 } inside' "$root/README.md" \
    >"$work/time_loop.c"
if [ ! -s "$work/time_loop.c" ]; then
    echo "README.md shows no C example" >&2
    exit 1
fi
diff -u "$root/examples/time_loop.c" "$work/time_loop.c"

pc=$(find "$prefix" -name spry.pc)
export PKG_CONFIG_PATH=${pc%/*}
# shellcheck disable=SC2046 # the flags are words
"$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror -o "$work/time_loop" "$work/time_loop.c" \
    $("$pkg_config" --cflags --libs spry)
LD_LIBRARY_PATH=$("$pkg_config" --variable=libdir spry) expect_time_loop "$work/time_loop"
