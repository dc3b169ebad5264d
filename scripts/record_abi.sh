#!/usr/bin/env bash
# record_abi.sh LIBRARY OUT: writes the binary interface of a libspry.so with debugging information (build type
# RelWithDebInfo) as XML: the functions of the public headers and the types that they use. A release publishes this
# file; `abidiff OLD NEW` compares two of them. Needs libabigail (Debian: abigail-tools).
set -eu
library=$1 out=$2
root=$(cd "$(dirname "$0")/.." && pwd)
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --headers-dir "$root/include/spry" --drop-private-types \
    --out-file "$out" "$library"
