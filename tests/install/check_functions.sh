#!/usr/bin/env bash
# check_functions.sh ROOT: no function is longer than 60 lines, from its { to its }, which clang-format sets in column
# 0. Tables end with "};" and may be longer; so may the exception below.
set -u
cd "$1" || exit 1

mapfile -t files < <(find src study cli bench common -type f -regex '.*\.\(c\|h\|cu\|cuh\|cpp\)' | sort)
[ "${#files[@]}" -gt 0 ] || { echo "found no source files in $1" >&2; exit 1; }

# The kernel of pairs of slices, one loop whose steps share their registers.
exception=src/formats/packed/packed_pairs.cuh

awk -v exception="$exception" 'FNR == 1 { begin = 0 }
    /^{/ { begin = FNR }
    /^}/ { if (begin > 0) functions++
           if (begin > 0 && /^} *$/ && FNR - begin + 1 > 60 && FILENAME != exception) {
               print FILENAME ":" begin ": a function of " FNR - begin + 1 " lines"; bad = 1 }
           begin = 0 }
    END { if (functions == 0) { print "found no functions"; bad = 1 }
          exit bad }' "${files[@]}" >&2
