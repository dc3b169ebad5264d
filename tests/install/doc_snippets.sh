#!/usr/bin/env bash
# doc_snippets.sh ROOT CC: each block ```c of the how-to pages compiles against the public headers, as statements in a
# function. The function declares the objects that pages use: a context, a matrix, a plan, options, arrays and an error.
set -eu
root=$1 cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0 failed=0
for page in "$root"/docs/how-to/*.md; do
    # Writes each block to a file named by page and first line.
    awk -v to="$work/${page##*/}" '/^```c$/ { file = to "." NR + 1 ".c"; next }
        /^```$/ { file = "" }
        file { print > file }' "$page"
done
for snippet in "$work"/*.c; do
    count=$((count + 1))
    {
        printf '#include <spry/%s.h>\n' matrix spgemm solve io cuda tune study
        printf '#include <stdio.h>\n'
        cat <<'END'
void snippet(spry_context *context, spry_matrix *A, spry_spmv_plan *plan, spry_spmv_options options, int gpu,
             void *stream, int rows, int cols, const int *offsets, const int *columns, double *values, double *x,
             double *y, const double *other_values)
{
    spry_error err = SPRY_ERROR_INIT;
    (void)context, (void)A, (void)plan, (void)options, (void)gpu, (void)stream, (void)rows, (void)cols, (void)offsets;
    (void)columns, (void)values, (void)x, (void)y, (void)other_values;
    {
END
        echo "#line 1 \"${snippet##*/}\""
        cat "$snippet"
        printf '\n    }\n    goto done;\ndone:\n    (void)err;\n}\n'
    } >"$work/whole.c.txt"
    if ! "$cc" -std=c17 -Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-but-set-variable -fsyntax-only -x c \
        -I "$root/include" "$work/whole.c.txt"; then
        failed=$((failed + 1))
    fi
done
echo "$count blocks, $failed do not compile"
[ $count -gt 0 ] && [ $failed = 0 ]
