#!/usr/bin/env bash
# tables.sh --check|--write ROOT PROGRAM: compares the tables of docs/reference/formats.md and docs/kernels.md with the
# library's descriptors, or updates the tables. Tables are between the lines <!-- table: NAME --> and <!-- end -->.
set -eu
mode=$1 root=$2 program=$3
status=0

for document in docs/reference/formats.md docs/kernels.md; do
    renewed=$(mktemp)
    trap 'rm -f "$renewed"' EXIT
    seen=0
    while IFS= read -r line || [ -n "$line" ]; do
        if [ -n "${skip:-}" ]; then
            [ "$line" != '<!-- end -->' ] && continue
            skip=
        fi
        printf '%s\n' "$line"
        if [[ $line =~ ^'<!-- table: '([a-z]+)' -->'$ ]]; then
            "$program" "${BASH_REMATCH[1]}"
            skip=1 seen=1
        fi
    done <"$root/$document" >"$renewed"
    if [ $seen = 0 ]; then
        echo "$document has no table" >&2
        status=1
    elif [ "$mode" = --write ]; then
        cat "$renewed" >"$root/$document"
    elif ! diff -u "$root/$document" "$renewed" >&2; then
        echo "$document is not what the descriptors say; cmake --build build-check --target tables writes it" >&2
        status=1
    fi
    rm -f "$renewed"
done
exit $status
