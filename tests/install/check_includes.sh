#!/usr/bin/env bash
# check_includes.sh ROOT: #include lines of src, cli, bench and common go the ways that directions.txt states. Standard
# headers are free. The program sees the benchmark through bench/bench.h alone, in cli/bench*.c and cli/tune.c.
set -u
cd "$1" || exit 1

# The table's line of each folder, as a regular expression of what its files may name in #include "...".
declare -A known
while read -r folder entries; do
    pattern='spry/spry\.h'
    [[ $folder == *.cu ]] || pattern+="|$folder/.*"
    for entry in $entries; do
        case $entry in
        public | =*) ;;
        *.h) pattern+="|${entry//./\\.}" ;;
        *) pattern+="|$entry/.*" ;;
        esac
    done
    known[$folder]=$pattern
done < <(sed -E 's/#.*//; /^[[:space:]]*$/d' tests/install/directions.txt)

status=0 files=0
while IFS= read -r file; do
    files=$((files + 1))
    folder=${file#src/} folder=${folder%%/*}
    allowed=${known[$folder]:-nothing: directions.txt does not have this folder}
    case $file in
    *.cu | *.cuh) [ -n "${known[$folder.cu]:-}" ] && allowed+="|${known[$folder.cu]}" ;;
    cli/bench*.[ch] | cli/tune.c) allowed+='|bench/bench\.h' ;;
    esac
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
    if grep -nE "^ *# *include *<($(printf '%s\n' "${!known[@]}" | paste -sd '|'))/" "$file"; then
        echo "$file includes the lines above with <>; the project's own files are included with \"\"" >&2
        status=1
    fi
done < <(find src cli bench common -type f -regex '.*\.\(c\|h\|cu\|cuh\|cpp\)' | sort)

[ "$files" -gt 0 ] || { echo "found no source files in $1" >&2; exit 1; }
exit $status
