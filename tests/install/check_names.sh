#!/usr/bin/env bash
# check_names.sh ROOT: in src, cli, bench and common, each file has a unique base name. In src/, the names of the
# formats below may appear in a string or at the start of an identifier only in src/formats and src/catalogue. All other
# code iterates over the catalogue.
set -u
cd "$1" || exit 1
names='packed|windowed|bsr|sell|swept'
# Exceptions: the plug-in's list of kernels, which are resolved by name, and SciPy's own format name in .npz files.
exceptions='src/device/cuda/kernels\.h|src/io/npz\.c'

status=0

twice=$(find src cli bench common -regex '.*\.\(c\|h\|cu\|cuh\|cpp\)' -printf '%f\n' | sort | uniq -d)
if [ -n "$twice" ]; then
    printf '%s\n' "$twice" 'several files of src, cli, bench and common have these names' >&2
    status=1
fi

mapfile -t sources < <(find src -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) \
    ! -path 'src/formats/*' ! -path 'src/catalogue/*' | sort)
[ "${#sources[@]}" -gt 0 ] || { echo "found no source files in $1/src" >&2; exit 1; }

# Prints "FILE:LINE:text" without comments.
found=$(grep -nE "\b($names)|(spryi|SPRYI)_($names|${names^^})" "${sources[@]}" /dev/null |
    sed -E 's|/\*.*\*/||; s|/\*.*||' | grep -vE '^[^:]*:[0-9]*:[[:space:]]*\*' |
    grep -E "\"[^\"]*\b($names)\b[^\"]*\"|\b(spryi_|SPRYI_)?($names|${names^^})_" | grep -vE "^($exceptions):")
[ -n "$found" ] || exit $status
printf '%s\n' "$found" \
    'only a family and the catalogue name its formats: use spryi_format_at or spryi_estimated_at' >&2
exit 1
