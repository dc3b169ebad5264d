#!/usr/bin/env bash
# check_includes.sh ROOT: #include arrows point one way,
#     core <- device <- formats, spgemm, reorder, studies <- catalogue <- io, choose <- plan <- ops
# and cli, bench, common and src/solve see nothing of the library but spry/spry.h (solve also the passes over vectors
# that a device has). The program sees the benchmark through bench/bench.h alone, in cli/bench*.c and cli/tune.c.
# Standard headers are free.
set -u
cd "$1" || exit 1

# may_include FOLDER: what a file of src/FOLDER may name in #include "...", as a regular expression.
may_include()
{
    local public='spry/spry\.h'
    case $1 in
    core) echo "$public|core/.*" ;;
    device) echo "$public|(core|device)/.*" ;;
    reorder) echo "$public|(core|reorder)/.*" ;;
    formats) echo "$public|(core|formats)/.*|device/cuda/.*" ;; # device/cuda/ in *.cu
    spgemm) echo "$public|(core|spgemm)/.*|device/cuda/.*" ;;   # likewise
    studies) echo "$public|(core|device|formats|spgemm|studies)/.*" ;;
    catalogue) echo "$public|(core|device|formats|spgemm|studies|catalogue)/.*" ;;
    io) echo "$public|(core|catalogue|io)/.*" ;;
    choose) echo "$public|(core|formats|catalogue|choose)/.*" ;;
    plan) echo "$public|(core|formats|reorder|catalogue|choose|plan)/.*" ;;
    ops) echo "$public|(core|device|formats|reorder|spgemm|io|catalogue|plan|ops)/.*" ;;
    solve) echo "$public|solve/.*|core/(bisect|clock|device|element)\.h|device/(vector_ops|iteration)\.h" ;;
    common) echo 'spry/spry\.h|common/.*' ;;
    bench) echo 'spry/spry\.h|(bench|common)/.*' ;;
    cli_starting_bench) echo 'spry/spry\.h|(cli|common)/.*|bench/bench\.h' ;;
    cli) echo 'spry/spry\.h|(cli|common)/.*' ;;
    *) echo 'nothing: this folder is not known to check_includes.sh' ;;
    esac
}

status=0 files=0
while IFS= read -r file; do
    files=$((files + 1))
    case $file in
    src/*) folder=${file#src/} folder=${folder%%/*} ;;
    cli/bench*.[ch] | cli/tune.c) folder=cli_starting_bench ;;
    *) folder=${file%%/*} ;;
    esac
    allowed=$(may_include "$folder")
    while IFS= read -r include; do
        # A name without a folder is a file beside this one.
        case $include in
        */*) ;;
        *) [ -e "${file%/*}/$include" ] && continue ;;
        esac
        if ! [[ $include =~ ^($allowed)$ ]] || [[ $include == *..* ]]; then
            echo "$file includes \"$include\", which $folder/ must not" >&2
            status=1
        fi
    done < <(sed -n -E 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]*)".*/\1/p' "$file")
    if grep -nE '^ *# *include *<(core|formats|reorder|spgemm|io|ops|choose|cli|bench|common)/' "$file"; then
        echo "$file includes the lines above with <>; the project's own files are included with \"\"" >&2
        status=1
    fi
done < <(find src cli bench common -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cpp' \) | sort)

[ "$files" -gt 0 ] || { echo "found no source files in $1" >&2; exit 1; }
exit $status
