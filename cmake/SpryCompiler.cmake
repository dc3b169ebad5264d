# Compiler flags, as two interface targets, and what depends on a source file's name.

if(NOT CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$")
  message(FATAL_ERROR "Spry is built with gcc or clang; this is ${CMAKE_C_COMPILER_ID}")
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

# spry_flags: what every C file of the project is compiled with.
# Never -march=native, which would make a binary for this machine alone, and never -ffast-math, which
# would break the error bound and the handling of NaN.
add_library(spry_flags INTERFACE)
target_compile_definitions(spry_flags INTERFACE _GNU_SOURCE)
# Release has no line tables, which are a quarter of the library's file; RelWithDebInfo has them, for profilers.
target_compile_options(spry_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wstrict-prototypes
                                            -Wmissing-prototypes -Wundef -fno-common)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # gcc's -Wconversion is meant, which leaves the first three out. That a loop was not unrolled as asked, or that the
  # machine's own features are a rare combination (in the peers, with -march=native), is no fault of the source.
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

# spry_link_flags: what every program and library of the project is linked with.
add_library(spry_link_flags INTERFACE)

if(SPRY_SANITIZE)
  target_compile_options(spry_flags INTERFACE -fsanitize=${SPRY_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(spry_link_flags INTERFACE -fsanitize=${SPRY_SANITIZE})
  # Kernels have copies of a function for many cases, which are inlined by force for speed alone: here they are calls,
  # a quarter of the time to compile them. Headers of the compiler write __always_inline__.
  target_compile_definitions(spry_flags INTERFACE always_inline=)
  # A hundred programs of 20 MB: lld takes a third of the time.
  find_program(SPRY_LLD ld.lld)
  if(SPRY_LLD AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
    target_link_options(spry_link_flags INTERFACE -fuse-ld=lld)
  endif()
endif()
# libFuzzer is clang's; its targets are built where they find most.
set(SPRY_FUZZ OFF)
if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND SPRY_SANITIZE MATCHES "address")
  set(SPRY_FUZZ ON)
endif()
if(SPRY_COVERAGE)
  target_compile_options(spry_flags INTERFACE --coverage)
  target_link_options(spry_link_flags INTERFACE --coverage)
endif()

# spry_prepare_sources(LIST): sets flags by file name and takes out of LIST what this target cannot have.
#   *_avx2*.c, *_avx512*.c   compiled for that level; left out on other processors than x86-64
#   *.tmpl.c                 included by others, never compiled by itself
#   *.gen.c                  a program of its own, which the build runs to write a table
#   all                      multiply-adds are fused only by intrinsics, so that both compilers give the same bits
#   csr_scatter_portable.c   -O2 in a release, see below
#   formats/*, spgemm/kernels/* where sanitizers watch, see below: less is checked or optimised in kernels, which took
#                            four fifths of the build's time
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
      # -O3 doubles the code for loops that wait for memory all the same.
      list(APPEND options "$<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-O2>")
    endif()
    if(source MATCHES "/src/spgemm/kernels/.*_avx512")
      # CD: every processor with the others has it, and it is checked. What pays is written in vectors, the rest stays short.
      # Aligned functions: else their speed depends on where the linker puts them (road network: 8 %).
      list(APPEND options -mavx512cd -mbmi -fno-tree-vectorize -falign-functions=64)
    endif()
    if(source MATCHES "/(src/formats|src/spgemm/kernels|study/kernels)/" AND CMAKE_C_COMPILER_ID MATCHES "Clang")
      # What is out of an array is seen without looking whether a kernel's pointers wrap around at the end of all
      # addresses.
      if(SPRY_SANITIZE MATCHES "undefined" AND name MATCHES "_(avx2|avx512|portable|cpu)")
        list(APPEND options -fno-sanitize=pointer-overflow)
      endif()
      # A fifth of the time to compile, and a small part of what tests take. Sparse products are a large part.
      if(SPRY_SANITIZE AND NOT source MATCHES "/src/spgemm/kernels/" AND
         name MATCHES "_(avx2|avx512|portable|cpu|apart|blocks|build|format)|^packed_group")
        list(APPEND options -O0)
      endif()
    endif()
    if(name STREQUAL "packed_group.c" AND CMAKE_BUILD_TYPE STREQUAL "Release")
      # Set-up for many types: half of the code, and at most 3 % slower.
      list(APPEND options -O2)
    endif()
    if(name STREQUAL "cpu_features.c")
      # It runs before the processor is known: nothing may be inlined into it from files built for a level.
      list(APPEND options -fno-lto)
    endif()
    if(options)
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${options}")
    endif()
    list(APPEND kept ${source})
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()
