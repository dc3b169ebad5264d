#!/usr/bin/env bash
# check_header.sh ROOT LANGUAGE COMPILER STANDARD: each header compiles alone with pedantic warnings, and SPRY_INIT
# works.
set -eu
root=$1 language=$2 compiler=$3 standard=$4

compile=("$compiler" "$standard" -x "$language" -I "$root/include" -Wall -Wextra -Wpedantic -Wconversion -Werror
    -fsyntax-only -)

"${compile[@]}" <<'END'
#include <spry/spry.h>
spry_spmv_options options(void);
spry_spmv_options options(void)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.expected_calls = 10;
    return o;
}
spry_const_vector vector(const double *x);
spry_const_vector vector(const double *x)
{
    return spry_const_vector_f64(x, 3);
}
END

# Compiles the header again, with nothing defined or included before.
for header in spry matrix spgemm solve io cuda tune study; do echo "#include <spry/$header.h>" | "${compile[@]}"; done
