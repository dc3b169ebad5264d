#!/usr/bin/env bash
# check_functions.sh ROOT: no function is longer than 60 lines, from its { to its }, which clang-format puts in column
# 0. Tables, which end with "};", and the exception below may be longer. No struct has more than 20 members, including
# members of structs defined inside.
set -u
cd "$1" || exit 1

mapfile -t files < <(find src study cli bench common -type f -regex '.*\.\(c\|h\|cu\|cuh\|cpp\)' | sort)
[ "${#files[@]}" -gt 0 ] || { echo "found no source files in $1" >&2; exit 1; }

# The kernel of pairs of slices is one loop whose steps share registers.
exception=src/formats/packed/packed_pairs.cuh

awk -v exception="$exception" 'FNR == 1 { begin = 0 }
    /^{/ { begin = FNR }
    /^}/ { if (begin > 0) functions++
           if (begin > 0 && /^} *$/ && FNR - begin + 1 > 60 && FILENAME != exception) {
               print FILENAME ":" begin ": a function of " FNR - begin + 1 " lines"; bad = 1 }
           begin = 0 }
    END { if (functions == 0) { print "found no functions"; bad = 1 }
          exit bad }' "${files[@]}" >&2 || exit 1

awk 'function count(text,  n) {
        while (gsub(/\([^()]*\)|\[[^][]*\]/, "", text)) {}
        gsub(/\{/, "", text)
        n = gsub(/;/, ";", text) + gsub(/,/, ",", text)
        return n
    }
    FNR == 1 { inside = comment = 0 }
    { line = $0
      if (comment && !sub(/^.*\*\//, "", line)) next
      comment = 0
      gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", line)
      comment = sub(/\/\*.*/, "", line)
      sub(/\/\/.*/, "", line) }
    inside && line ~ /^}/ { structs++
        members = count(body)
        if (members > 20) { print FILENAME ":" begin ": a struct of " members " members"; bad = 1 }
        inside = 0 }
    inside && line !~ /^#/ { body = body line }
    line ~ /^(static |typedef )?(struct|union)( [a-zA-Z_0-9]+)? \{/ { inside = 1; body = ""; begin = FNR }
    END { if (structs == 0) { print "found no structs"; bad = 1 }
          exit bad }' "${files[@]}" >&2 || exit 1
