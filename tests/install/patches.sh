#!/usr/bin/env bash
# patches.sh ROOT WORK CMAKE CC FULL: applies tests/patches/*.patch, the worked examples of CONTRIBUTING.md, to a copy
# of the tree. A new format or device may change one line of an existing file. If FULL is ON, the script also builds the
# copy and runs the unedited tests of all formats and kernels, and the tests of the patches. INSTRUMENTED and
# RACES_ALONE shorten the tests as under ThreadSanitizer.
set -eu
root=$1 work=$2/patches cmake=$3 cc=$4 full=$5
tests=(formats_formats kernels_kernels kernels_transposed io_container io_round_trip core_plan)
begin=$SECONDS

rm -rf "$work"
mkdir -p "$work/tree"
for part in CMakeLists.txt cmake include src docs tests; do cp -r "$root/$part" "$work/tree"; done
for patch in "$root"/tests/patches/*.patch; do
    patch -s -p1 -d "$work/tree" <"$patch"
    changed=$(awk '/^diff / { file = $NF; new = 0 } /^new file/ { new = 1 }
        !new && /^[+-]/ && !/^(\+\+\+|---) / { print file ": " $0 }' "$patch")
    case ${patch##*/} in
    format.patch | device.patch)
        if [ "$(wc -l <<<"$changed")" -ne 1 ] || [[ $changed != *": +"* ]]; then
            printf '%s has to insert one line into one file that was there, and has:\n%s\n' "$patch" "$changed" >&2
            exit 1
        fi
        ;;
    esac
    while IFS=/ read -r area name; do tests+=("${area}_$name"); done < \
        <(sed -n -E 's|^\+\+\+ b/tests/([^/]*)/test_([^/]*)\.c$|\1/\2|p' "$patch")
done
if [ "$full" != ON ]; then
    rm -rf "$work"
    exit 0
fi

launcher=()
if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
fi
# Disables forced inlining, which serves only speed: csr_avx512_cpu.c then compiles in a third of the time. gcc then
# reports some arrays as uninitialised, although other functions fill them.
calls="-Dalways_inline= -Wno-maybe-uninitialized"
if ! { "$cmake" -S "$work/tree" -B "$work/build" -G Ninja -DCMAKE_C_COMPILER="$cc" "${launcher[@]}" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-O1 $calls -DINSTRUMENTED=1 -DRACES_ALONE=1" -DSPRY_WERROR=ON \
    -DSPRY_CUDA=OFF -DSPRY_PETSC=OFF -DSPRY_BUILD_CLI=OFF -DSPRY_BUILD_PEERS=OFF &&
    "$cmake" --build "$work/build" --parallel 2 --target spry_tables "${tests[@]/#/test_}"; } >"$work/log" 2>&1; then
    cat "$work/log" >&2
    exit 1
fi
built=$SECONDS

# Checks that the library lists the new names, because the tests also pass without them.
for table in formats kernels; do "$work/build/tests/install/spry_tables" $table; done >"$work/tables"
for name in $(sed -n -E 's|^\+    \.name = "(.*)",$|\1|p' "$root"/tests/patches/format.patch); do
    grep -qw "$name" "$work/tables" || { echo "the library does not list $name" >&2; exit 1; }
done
if ! (cd "$work/build" && ctest -j 2 --no-tests=error -R "^($(IFS='|' && echo "${tests[*]}"))\$" --output-on-failure) \
    >"$work/log" 2>&1; then
    cat "$work/log" >&2
    exit 1
fi
grep -E 'tests passed' "$work/log"
echo "built in $((built - begin)) s, tested in $((SECONDS - built)) s: ${tests[*]}"
rm -rf "$work"
