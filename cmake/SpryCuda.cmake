# libspry-cuda.so, the plug-in with the GPU kernels: every *.cu under src/. Built where nvcc is found; the library and
# its command line work without.

# What is packaged: machine code for the GPUs of PCs and servers since 2018, as far as nvcc knows them, and PTX of the
# newest, which the driver compiles for those that come after. 8.7, 10.3 and 12.1 run the code of 8.6, 10.0 and 12.0.
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
    message(WARNING "CUDA plug-in: ${CMAKE_CUDA_COMPILER} --list-gpu-code tells no architecture; taking 90 and PTX")
    set(${result} 90 PARENT_SCOPE)
  else()
    set(${result} ${list} ${newest}-virtual PARENT_SCOPE)
  endif()
endfunction()

set(spry_cuda_shared core/error.c core/status.c formats/bsr/bsr_figure.c formats/csrk/csrk_figure.c
                     formats/csrk/csrk_tuning.c formats/ell/ell_figure.c formats/hyb/hyb_figure.c
                     formats/scoo/scoo_figure.c formats/sell/sell_figure.c)
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
    else()
      set(architectures 90)
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures})
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
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
  # MODULE: loaded at run time and linked by nobody. What it shares with libspry is its own copy.
  list(TRANSFORM spry_cuda_shared PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/src/ OUTPUT_VARIABLE spry_cuda_own)
  add_library(spry_cuda MODULE ${spry_cuda_sources} ${spry_cuda_own})
  add_dependencies(spry_cuda spry_build_id)
  target_include_directories(spry_cuda PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/src
                                               ${spry_generated})
  target_compile_definitions(spry_cuda PRIVATE _GNU_SOURCE)
  target_compile_options(spry_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-Xfatbin=-compress-all -lineinfo -Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers>)
  if(SPRY_WERROR)
    target_compile_options(spry_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
  endif()
  set_target_properties(spry_cuda PROPERTIES
    OUTPUT_NAME spry-cuda PREFIX lib CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_RUNTIME_LIBRARY Static
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  install(TARGETS spry_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
