#!/usr/bin/env bash
# check_length.sh ROOT: files have at most 900 lines and 120 columns, no tabs, and no blanks at line ends.
set -u
cd "$1" || exit 1

mapfile -t files < <(find include src study cli bench common tests examples docs -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o \
    -name '*.cuh' -o -name '*.sh' \) | sort)
[ "${#files[@]}" -gt 0 ] || { echo "found no source files in $1" >&2; exit 1; }

awk 'FNR == 1 { lines = 0 }
    ++lines == 901 { print FILENAME ": over 900 lines"; bad = 1 }
    length($0) > 120 { print FILENAME ":" FNR ": " length($0) " columns"; bad = 1 }
    /\t/ { print FILENAME ":" FNR ": a tab"; bad = 1 }
    /[ \r]$/ { print FILENAME ":" FNR ": blanks at the end of the line"; bad = 1 }
    END { exit bad }' "${files[@]}" >&2
