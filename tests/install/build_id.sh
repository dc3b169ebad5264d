#!/usr/bin/env bash
# build_id.sh ROOT FOLDER CMAKE: the build's id changes with each file that the CUDA plug-in shares with libspry. These
# are the headers that the plug-in's sources include, directly or indirectly, and the C sources linked into
# both. The id does not change with files only in the plug-in, or without a change.
set -eu
root=$1 folder=$2/build_id cmake=$3
rm -rf "$folder"
mkdir -p "$folder"
mkdir "$folder/study"
cp -r "$root/include" "$root/src" "$folder"
cp -r "$root/study/kernels" "$folder/study"

id()
{
    "$cmake" -DROOT="$folder" -DVERSION=1.2.3 -DOUTPUT="$folder/build_id.h" -P "$root/cmake/SpryBuildId.cmake"
    sed -n 's/^#define SPRYI_BUILD_ID "\(.*\)"$/\1/p' "$folder/build_id.h"
}

# Prints the tree's headers that the files include, one per line.
included_by()
{
    sed -n 's/^#include "\(.*\.\(h\|cuh\)\)"$/\1/p' "$@" | sort -u | while read -r header; do
        for place in src include .; do
            if [ -f "$folder/$place/$header" ]; then echo "$folder/$place/$header"; fi
        done
    done
}

mapfile -t files < <(find "$folder/src" "$folder/study" -name '*.cu')
[ "${#files[@]}" -gt 0 ] || { echo "found no .cu file in $root/src" >&2; exit 1; }
known=
while :; do
    found=$(included_by "${files[@]}")
    [ "$found" != "$known" ] || break
    known=$found
    mapfile -t more <<<"$found"
    files+=("${more[@]}")
done
shared=$(sed -n '/^set(spry_cuda_shared/,/)/p' "$root/cmake/SpryBuildId.cmake" | grep -oE '[a-z_/]+\.c' || true)
[ -n "$shared" ] || { echo "found no shared sources in SpryBuildId.cmake" >&2; exit 1; }

before=$(id)
[ -n "$before" ] || { echo "no id was written" >&2; exit 1; }
status=0
# expect same|other FILE: compares the id after a line is added to FILE.
expect()
{
    cp "$2" "$folder/kept"
    echo '/* another line */' >>"$2"
    local after verdict=other
    after=$(id)
    [ "$after" != "$before" ] || verdict=same
    if [ "$verdict" != "$1" ]; then
        echo "with another line in ${2#"$folder"/} the id is the $verdict, expected the $1" >&2
        status=1
    fi
    cp "$folder/kept" "$2"
}

tried=0
for file in $(grep '\.h$' <<<"$known") $(sed "s|^|$folder/src/|" <<<"$shared") "$folder/src/spgemm/kernels/spgemm.h"; do
    expect other "$file"
    tried=$((tried + 1))
done
[ "$tried" -ge 25 ] || { echo "only $tried shared files were found" >&2; status=1; }
expect same "$folder/src/device/cuda/plugin.cu"
[ "$(id)" = "$before" ] || { echo "the id changed when nothing did" >&2; status=1; }
rm -rf "$folder"
exit $status
