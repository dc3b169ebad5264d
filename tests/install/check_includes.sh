#!/usr/bin/env bash
# check_includes.sh ROOT: #include arrows point one way,
#     core <- formats, reorder, spgemm, io <- ops <- choose
# and cli, bench and src/solve see nothing of the library but spry/spry.h (solve also where the GPU's
# vector work is). Standard headers are free.
set -u
cd "$1" || exit 1

# may_include FOLDER: what a file of src/FOLDER may name in #include "...", as a regular expression.
may_include()
{
    case $1 in
    core) echo 'spry/spry\.h|core/.*' ;;
    formats) echo 'spry/spry\.h|core/.*|formats/.*|cuda/.*' ;; # cuda/ in *.cu
    reorder) echo 'spry/spry\.h|core/.*|reorder/.*' ;;
    spgemm) echo 'spry/spry\.h|core/.*|spgemm/.*|cuda/.*' ;; # cuda/ in *.cu
    io) echo 'spry/spry\.h|core/.*|io/.*' ;;
    ops) echo 'spry/spry\.h|(core|formats|reorder|spgemm|io|ops)/.*' ;;
    choose) echo 'spry/spry\.h|(core|formats|reorder|spgemm|io|ops|choose)/.*' ;;
    cuda) echo 'spry/spry\.h|(core|cuda)/.*' ;;
    solve) echo 'spry/spry\.h|solve/.*|core/cuda_plugin\.h|cuda/.*' ;; # vector work of GPUs; cuda/ in *.cu
    bench) echo 'spry/spry\.h|bench/.*' ;;
    cli) echo 'spry/spry\.h|(bench|cli)/.*' ;;
    *) echo 'nothing: this folder is not known to check_includes.sh' ;;
    esac
}

status=0 files=0
while IFS= read -r file; do
    files=$((files + 1))
    case $file in
    src/*) folder=${file#src/} folder=${folder%%/*} ;;
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
    if grep -nE '^ *# *include *<(core|formats|reorder|spgemm|io|ops|choose|cli|bench)/' "$file"; then
        echo "$file includes the lines above with <>; the project's own files are included with \"\"" >&2
        status=1
    fi
done < <(find src cli bench -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cpp' \) | sort)

[ "$files" -gt 0 ] || { echo "found no source files in $1" >&2; exit 1; }
exit $status
