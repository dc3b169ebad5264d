# Compiler flags: two interface targets, and flags that depend on a source file's name.

if(NOT CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$")
  message(FATAL_ERROR "the C compiler is ${CMAKE_C_COMPILER_ID}, expected gcc or clang")
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

include(CheckCSourceCompiles)
check_c_source_compiles("
#if !defined(__x86_64__)
#error
#endif
int main(void) { return 0; }" SPRY_TARGET_IS_X86_64)

# spry_flags: compiler flags of every C file of the project.
# Never -march=native, because the binary would run only on this machine, and never -ffast-math, because it would break
# the error bound and the handling of NaN.
add_library(spry_flags INTERFACE)
target_compile_definitions(spry_flags INTERFACE _GNU_SOURCE)
# Release has no line tables, which would be a quarter of the library's size. RelWithDebInfo has them, for profilers.
target_compile_options(spry_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wstrict-prototypes
                                            -Wmissing-prototypes -Wundef -fno-common)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # The first three are not part of gcc's -Wconversion. The last two warn of loops that were not unrolled and of rare
  # combinations of processor features (in the peers, with -march=native), which are no errors in the source.
  include(CheckCCompilerFlag)
  foreach(warning IN ITEMS sign-conversion string-conversion enum-float-conversion pass-failed
                           invalid-feature-combination)
    string(MAKE_C_IDENTIFIER "SPRY_HAS_W_${warning}" has)
    check_c_compiler_flag(-W${warning} ${has})
    if(${has})
      target_compile_options(spry_flags INTERFACE -Wno-${warning})
    endif()
  endforeach()
endif()
if(SPRY_WERROR)
  target_compile_options(spry_flags INTERFACE -Werror)
endif()
if(SPRY_TARGET_IS_X86_64)
  target_compile_definitions(spry_flags INTERFACE SPRY_HAVE_X86=1)
endif()
if(SPRY_STUDIES)
  target_compile_definitions(spry_flags INTERFACE SPRY_STUDIES=1)
endif()

# spry_link_flags: linker flags of every program and library of the project.
add_library(spry_link_flags INTERFACE)

if(SPRY_SANITIZE)
  target_compile_options(spry_flags INTERFACE -fsanitize=${SPRY_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(spry_link_flags INTERFACE -fsanitize=${SPRY_SANITIZE})
  # Disables forced inlining in kernels, which have specialized copies of functions for many cases. This reduces compile
  # time to a quarter. The compiler's headers use __always_inline__ and are not affected.
  target_compile_definitions(spry_flags INTERFACE always_inline=)
  # lld links the hundred test programs of 20 MB in a third of the time.
  find_program(SPRY_LLD ld.lld)
  if(SPRY_LLD AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
    target_link_options(spry_link_flags INTERFACE -fuse-ld=lld)
  endif()
endif()
# libFuzzer is part of clang. Fuzz targets are built only with the address sanitizer.
set(SPRY_FUZZ OFF)
if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND SPRY_SANITIZE MATCHES "address")
  set(SPRY_FUZZ ON)
endif()
if(SPRY_COVERAGE)
  target_compile_options(spry_flags INTERFACE --coverage)
  target_link_options(spry_link_flags INTERFACE --coverage)
endif()

# spry_prepare_sources(LIST): sets flags by file name, and removes files from LIST that are not compiled.
#   *_avx2*.c, *_avx512*.c   compiled for that level; removed on processors other than x86-64
#   *.tmpl.c                 removed: other files include it
#   *.gen.c                  removed: a program that the build runs to write a table
#   all                      multiply-adds are fused only by intrinsics, so that both compilers give the same bits
#   csr_scatter_portable.c   -O2 in a release, see below
#   formats/*, spgemm/kernels/*   with sanitizers, less checks or optimisation, see below: these kernels took four
#                            fifths of the build time
function(spry_prepare_sources list)
  set(kept)
  foreach(source IN LISTS ${list})
    get_filename_component(name ${source} NAME)
    if(name MATCHES "\\.(tmpl|gen)\\.c$")
      continue()
    endif()
    set(options -ffp-contract=off)
    if(name MATCHES "_avx512")
      list(APPEND options -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma -mbmi2 -mprefer-vector-width=512)
    elseif(name MATCHES "_avx2")
      list(APPEND options -mavx2 -mfma -mbmi2)
    endif()
    if(name MATCHES "_avx(2|512)" AND NOT SPRY_TARGET_IS_X86_64)
      continue()
    endif()
    if(name MATCHES "^csr_scatter_portable\\.c$")
      # -O3 doubles the code size without a gain, because the loops are memory-bound.
      list(APPEND options "$<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-O2>")
    endif()
    if(source MATCHES "/src/spgemm/kernels/.*_avx512")
      # CD: every processor with the other features has it, and it is checked at run time. Hot loops are written with
      # intrinsics, so automatic vectorization would only add code. Functions are aligned, because otherwise their speed
      # depends on their addresses (road network: 8 %).
      list(APPEND options -mavx512cd -mbmi -fno-tree-vectorize -falign-functions=64)
    endif()
    if(source MATCHES "/(src/formats|src/spgemm/kernels|study/kernels)/" AND CMAKE_C_COMPILER_ID MATCHES "Clang")
      # Other checks find accesses out of bounds, so pointer-overflow checks are not needed in kernels.
      if(SPRY_SANITIZE MATCHES "undefined" AND name MATCHES "_(avx2|avx512|portable|cpu)")
        list(APPEND options -fno-sanitize=pointer-overflow)
      endif()
      # -O0 compiles in a fifth of the time, and these files take a small part of the tests' time. Sparse products take
      # a large part and keep their optimisation.
      if(SPRY_SANITIZE AND NOT source MATCHES "/src/spgemm/kernels/" AND
         name MATCHES "_(avx2|avx512|portable|cpu|column_major|blocks|build|format)|^packed_group")
        list(APPEND options -O0)
      endif()
    endif()
    if(name STREQUAL "packed_group.c" AND CMAKE_BUILD_TYPE STREQUAL "Release")
      # -O2 halves the code of the set-up for many types, and is at most 3 % slower.
      list(APPEND options -O2)
    endif()
    if(name STREQUAL "cpu_features.c")
      # This file runs before the processor is known, so no code of files built for a level may be inlined into it.
      list(APPEND options -fno-lto)
    endif()
    if(options)
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${options}")
    endif()
    list(APPEND kept ${source})
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()
