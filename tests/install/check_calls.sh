#!/usr/bin/env bash
# check_calls.sh ROOT: checks calls of the library code (src/, study/kernels/). The code never prints and never ends the
# process. It allocates memory only through base/memory.c, so that the user's hooks see all memory, and starts threads
# only in base/pool.c. Programs that the build runs, *.gen.c, are not checked.
set -u
cd "$1" || exit 1

mapfile -t sources < <(find src study -type f \( -name '*.c' -o -name '*.h' \) ! -name '*.gen.c' | sort)
[ "${#sources[@]}" -gt 0 ] || { echo "found no source files in $1/src" >&2; exit 1; }
status=0

# Prints "FILE:LINE:text" of all sources, without comments and strings, with continued lines joined.
stripped=$(awk '{ line = line $0 }
    /\\$/ { sub(/\\$/, "", line); next }
    { gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
      sub(/\/\/.*/, "", line)
      gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
      sub(/^[ \t]*\/?\*.*/, "", line)
      if (line != "") print FILENAME ":" FNR ":" line
      line = "" }' "${sources[@]}")

# found PATTERN [FILES]: prints lines that match, except in files that match the expression FILES.
found()
{
    grep -E "$1" <<<"$stripped" | grep -vE "^(${2:-no file}):"
}

# calls NAMES [FILES]: prints lines that call one of the functions.
calls()
{
    found "(:|[^A-Za-z0-9_.>])($1)[[:space:]]*\(" "${2:-}"
}

# complain TEXT LINES
complain()
{
    [ -n "$2" ] || return 0
    printf '%s\n%s\n' "$2" "$1" >&2
    status=1
}

complain 'the library must not print or end the process' \
    "$(calls 'printf|vprintf|puts|putchar|perror|exit|_exit|_Exit|quick_exit|abort|assert|raise'
       found '\bstderr\b')"

# Exceptions: the default hooks, and the context, which is created before hooks exist.
complain 'library memory goes through spryi_allocate (src/base/memory.h)' \
    "$(calls 'malloc|calloc|realloc|reallocarray|free|aligned_alloc|posix_memalign|strn?dup|v?asprintf|getline' \
        'src/base/memory\.c|src/device/devices\.c')"

# Numbers are read the same way in each locale. src/io/decimal.c passes strtod digits and an exponent without a decimal
# point, which no locale changes. src/base/error.c formats all numbers of messages in the C locale.
complain 'these depend on the locale' \
    "$(calls 'setlocale|strtod|strtof|strtold|atof' 'src/io/decimal\.c')"
complain 'only src/base/error.c may change the locale' "$(calls 'uselocale|newlocale' 'src/base/error\.c')"

# OpenMP ends the process if the system cannot start a thread.
complain 'loops run on the pool (spryi_loop, src/base/pool.h), without OpenMP' \
    "$(found 'pragma omp|<omp\.h>|\bomp_[a-z]'
       calls 'pthread_create|thrd_create' 'src/base/pool\.c')"
exit $status
