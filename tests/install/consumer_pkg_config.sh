#!/usr/bin/env bash
# consumer_pkg_config.sh ROOT PREFIX WORK PKG_CONFIG CC: builds and runs a program with the flags of spry.pc.
set -eu
root=$1 prefix=$2 work=$3/consumer-pkg-config pkg_config=$4 cc=$5
. "$root/tests/install/lib.sh"

pc=$(find "$prefix" -name spry.pc)
export PKG_CONFIG_PATH=${pc%/*}
libdir=$("$pkg_config" --variable=libdir spry)

rm -rf "$work"
mkdir -p "$work"
# shellcheck disable=SC2046 # the flags are words
"$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror -o "$work/consumer" "$root/examples/time_loop.c" \
    $("$pkg_config" --cflags --libs spry)
LD_LIBRARY_PATH=$libdir expect_time_loop "$work/consumer"

header=$(sed -n 's/^#define SPRY_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' "$root/include/spry/spry.h" | paste -sd.)
if [ "$("$pkg_config" --modversion spry)" != "$header" ]; then
    echo "spry.pc says version $("$pkg_config" --modversion spry), the header $header" >&2
    exit 1
fi
