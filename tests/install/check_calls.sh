#!/usr/bin/env bash
# check_calls.sh ROOT: library code (src/) never prints, never ends the process, takes memory only
# through core/memory.c, so that the user's hooks see all of it, and threads only as many as core/team.h allows.
set -u
cd "$1" || exit 1

# calls NAMES FILE...: lines that call one of the functions, comments and strings taken out.
calls()
{
    local names=$1
    shift
    for file in "$@"; do
        sed -E 's/"([^"\\]|\\.)*"/""/g; s@//.*@@; s@/\*([^*]|\*[^/])*\*/@@g; s@^[[:space:]]*/?\*.*@@' "$file" |
            grep -nE "(^|[^A-Za-z0-9_.>])($names)[[:space:]]*\(" | sed "s|^|$file:|"
    done
}

mapfile -t sources < <(find src -type f \( -name '*.c' -o -name '*.h' \) | sort)
[ "${#sources[@]}" -gt 0 ] || { echo "found no source files in $1/src" >&2; exit 1; }
status=0

found=$(calls 'printf|vprintf|puts|putchar|perror|exit|_exit|_Exit|quick_exit|abort|assert|raise' "${sources[@]}"
    grep -nE '\bstderr\b' "${sources[@]}" | grep -vE '^[^:]*:[0-9]*:[[:space:]]*(/?\*|//)')
if [ -n "$found" ]; then
    printf '%s\nthe library must not print or end the process\n' "$found" >&2
    status=1
fi

allocating=()
for file in "${sources[@]}"; do
    case $file in
    src/core/memory.c | src/core/block_cache.c) ;; # the default hooks
    src/device/context.c) ;; # the context, which comes before any hook
    *) allocating+=("$file") ;;
    esac
done
allocators='malloc|calloc|realloc|reallocarray|free|aligned_alloc|posix_memalign|strn?dup|v?asprintf|getline'
found=$(calls "$allocators" "${allocating[@]}")
if [ -n "$found" ]; then
    printf '%s\nlibrary memory goes through spryi_allocate (src/core/memory.h)\n' "$found" >&2
    status=1
fi

# Numbers must be read the same way whatever the locale. src/io/decimal_read.c hands strtod digits and an exponent
# without a decimal point, which no locale changes.
local_sources=()
for file in "${sources[@]}"; do
    [ "$file" = src/io/decimal_read.c ] || local_sources+=("$file")
done
found=$(calls 'setlocale|uselocale|strtod|strtof|strtold|atof' "${local_sources[@]}")
if [ -n "$found" ]; then
    printf '%s\nthese depend on the locale\n' "$found" >&2
    status=1
fi

# OpenMP's own number is not the context's, and after a fork a team may never come.
found=$(for file in "${sources[@]}"; do
        sed -e ':join' -e '/\\$/ { N; s/\\\n//; b join' -e '}' "$file" | grep 'pragma omp parallel' |
            grep -v 'num_threads(' | sed "s|^|$file: |"
    done
    calls 'omp_get_max_threads|omp_get_num_procs' "${sources[@]}" | grep -vE '^src/(core/team|device/context)\.c:'
    grep -nE 'num_threads\((plan->|context->|plan->context->)threads' "${sources[@]}")
if [ -n "$found" ]; then
    printf '%s\nparallel regions ask spryi_threads or spryi_team for their threads (src/core/team.h)\n' "$found" >&2
    status=1
fi
exit $status
