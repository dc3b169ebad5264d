# libspry-cuda.so, the plug-in with the GPU kernels: every *.cu under src/, and with SPRY_STUDIES those of
# study/kernels/. It is built if nvcc is found. The library and the program work without it.

# Sets the architectures of packages: machine code for the GPUs of PCs and servers since 2018 that nvcc supports, and
# PTX of the newest, which the driver compiles for later GPUs. 8.7, 10.3 and 12.1 run the code of 8.6, 10.0 and 12.0.
function(spry_dist_architectures result)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known RESULT_VARIABLE failed ERROR_QUIET)
  set(list)
  foreach(architecture IN ITEMS 75 80 86 89 90 100 120)
    if(known MATCHES "sm_${architecture}(\n|$)")
      list(APPEND list ${architecture}-real)
      set(newest ${architecture})
    endif()
  endforeach()
  if(failed OR NOT list)
    message(WARNING "CUDA plug-in: ${CMAKE_CUDA_COMPILER} --list-gpu-code lists no architecture; using 90 and PTX")
    set(${result} 90 PARENT_SCOPE)
  else()
    set(${result} ${list} ${newest}-virtual PARENT_SCOPE)
  endif()
endfunction()

set(SPRY_HAVE_CUDA OFF)
if(SPRY_CUDA STREQUAL "AUTO" AND SPRY_SANITIZE)
  message(STATUS "CUDA plug-in: not built with sanitizers (compute-sanitizer checks the kernels)")
elseif(NOT SPRY_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  set(architectures ${SPRY_CUDA_ARCHITECTURES})
  if(architectures STREQUAL "dist" AND CMAKE_CUDA_COMPILER)
    spry_dist_architectures(architectures)
  elseif(NOT architectures)
    find_program(SPRY_NVIDIA_SMI nvidia-smi)
    set(gpu_seen 1)
    if(SPRY_NVIDIA_SMI)
      execute_process(COMMAND ${SPRY_NVIDIA_SMI} -L RESULT_VARIABLE gpu_seen OUTPUT_QUIET ERROR_QUIET)
    endif()
    if(gpu_seen EQUAL 0)
      set(architectures native)
      set(SPRY_CUDA_BRIEFLY OFF)
    elseif(SPRY_CUDA_BRIEFLY STREQUAL "PTX")
      set(architectures 90-virtual)
    elseif(SPRY_CUDA_BRIEFLY)
      set(architectures 90-real)
    else()
      set(architectures 90)
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures})
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(SPRY_CUDA_BRIEFLY)
      set(CMAKE_CUDA_FLAGS_RELEASE "-O0 -DNDEBUG") # for host code
    endif()
    set(SPRY_HAVE_CUDA ON)
  elseif(SPRY_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SPRY_CUDA is ON, but no CUDA compiler (nvcc) was found")
  else()
    message(STATUS "CUDA plug-in: not built, no CUDA compiler (nvcc) was found; products run on the CPU")
  endif()
endif()

if(SPRY_HAVE_CUDA)
  message(STATUS "CUDA plug-in: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
  file(GLOB_RECURSE spry_cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/*.cu)
  if(SPRY_STUDIES)
    file(GLOB spry_cuda_studies CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/study/kernels/*.cu)
    list(APPEND spry_cuda_sources ${spry_cuda_studies})
  endif()
  # One source is compiled once for each module of packed_slices_cuda. An item has the module's name, its value types,
  # and a kernel with its template arguments.
  list(FILTER spry_cuda_sources EXCLUDE REGEX "/packed_module_cuda\\.cu$")
  foreach(module IN ITEMS "rows_f32 ROW_0 ROWS false" "rows_f64 ROW_1 ROWS false" "rows_pattern PLAIN_ROWS ROWS true"
                          "rows_mixed MIXED_ROWS ROWS false" "blocks2 PLAIN_ROWS BLOCKS 2" "blocks3 PLAIN_ROWS BLOCKS 3"
                          "blocks4 PLAIN_ROWS BLOCKS 4" "blocks5 PLAIN_ROWS BLOCKS 5" "blocks_mixed MIXED_ROWS BLOCKS 2 3 4 5"
                          "columns_rows PLAIN_ROWS COLUMNS 1" "columns_blocks PLAIN_ROWS COLUMNS 2 3 4 5"
                          "columns_mixed MIXED_ROWS COLUMNS 1 2 3 4 5" "rows_table TABLE_ROWS ROWS false"
                          "blocks_table TABLE_ROWS BLOCKS 2 3 4 5" "columns_table TABLE_ROWS COLUMNS 1 2 3 4 5")
    separate_arguments(module)
    list(POP_FRONT module name types kernels)
    list(TRANSFORM module REPLACE "(.+)" "SPRYI_${types}(${kernels}, \\1)" OUTPUT_VARIABLE instances)
    list(JOIN instances " " instances)
    set(source ${spry_generated}/formats/packed/packed_${name}_cuda.cu)
    file(CONFIGURE OUTPUT ${source} CONTENT
         "#define SPRY_INSTANCES ${instances}\n#include \"formats/packed/packed_module_cuda.cu\"\n")
    list(APPEND spry_cuda_sources ${source})
  endforeach()
  # The second modules of these sources: see SPRY_CUDA_SELDOM.
  foreach(kernel IN ITEMS bsr/bsr_blocks csr/csr_merge sell/sell_chunks windowed/windowed_staged)
    set(source ${spry_generated}/formats/${kernel}_seldom_cuda.cu)
    file(CONFIGURE OUTPUT ${source} CONTENT
         "#define SPRY_SELDOM_MODULE\n#include \"formats/${kernel}_cuda.cu\"\n")
    set_source_files_properties(${source} PROPERTIES COMPILE_FLAGS "-Xcompiler=-Wno-unused -diag-suppress=177")
    list(APPEND spry_cuda_sources ${source})
  endforeach()
  # MODULE: loaded at run time, never linked. It has its own copy of the sources shared with libspry.
  list(TRANSFORM spry_cuda_shared PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/src/ OUTPUT_VARIABLE spry_cuda_own)
  add_library(spry_cuda MODULE ${spry_cuda_sources} ${spry_cuda_own})
  add_dependencies(spry_cuda spry_build_id)
  target_include_directories(spry_cuda PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/src
                                               ${spry_generated})
  target_compile_definitions(spry_cuda PRIVATE _GNU_SOURCE)
  if(SPRY_STUDIES)
    target_compile_definitions(spry_cuda PRIVATE SPRY_STUDIES=1)
    target_include_directories(spry_cuda PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  # Line information for profilers (SPRY_CUDA_LINES) triples the bytes that a GPU loads before the first product.
  set(spry_cuda_options -Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers)
  if(SPRY_CUDA_BRIEFLY AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
    list(APPEND spry_cuda_options -Ofc=max) # compiles in a quarter of the time; kernels are a few times slower
  elseif(SPRY_CUDA_LINES)
    list(APPEND spry_cuda_options -lineinfo)
  endif()
  # Compressed code has a sixth of the size, but decompressing a module adds 1 to 2 ms to its first product. So packages
  # for many GPUs are compressed completely. For one GPU only PTX and some modules are compressed: narrow values,
  # patterns, 64-bit offsets of csr_merge, multi-vector products, blocks of 4 and 5, slower kernels of csr, csr-k formats,
  # the sort kernel of sparse products, solvers and PageRank, and the ordering of windowed.
  set(packaged $<STREQUAL:${SPRY_CUDA_ARCHITECTURES},dist>)
  set(spry_cuda_seldom ${spry_cuda_sources})
  list(FILTER spry_cuda_seldom INCLUDE REGEX "/study/|_mixed_cuda|_seldom_cuda|_table_cuda|_pattern_cuda|_columns_|/csr_panel_cuda|\
/packed_blocks[45]_|/csr_adaptive_cuda|/csrk/|/spgemm/kernels/cuda/sort_cuda|/cg_|/rank_passes|/windowed_order")
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
    set_source_files_properties(${spry_cuda_sources} PROPERTIES COMPILE_OPTIONS -compress-mode=$<IF:${packaged},size,default>)
    if(NOT SPRY_CUDA_BRIEFLY)
      set_source_files_properties(${spry_cuda_seldom} PROPERTIES COMPILE_OPTIONS -compress-mode=size)
    endif()
  else()
    list(APPEND spry_cuda_options $<${packaged}:-Xfatbin=-compress-all>)
  endif()
  target_compile_options(spry_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${spry_cuda_options}>)
  if(SPRY_WERROR)
    target_compile_options(spry_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
  endif()
  set_target_properties(spry_cuda PROPERTIES
    OUTPUT_NAME spry-cuda PREFIX lib CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_RUNTIME_LIBRARY Static
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  spry_install(spry_cuda ${CMAKE_INSTALL_LIBDIR} SLOW)
endif()
