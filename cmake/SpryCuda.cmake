# libspry-cuda.so, the plug-in with the GPU kernels: every *.cu under src/. Built where nvcc is found; the library and
# its command line work without.
set(SPRY_HAVE_CUDA OFF)
if(SPRY_CUDA STREQUAL "AUTO" AND SPRY_SANITIZE)
  message(STATUS "CUDA plug-in: not built with sanitizers (compute-sanitizer checks the kernels)")
elseif(NOT SPRY_CUDA STREQUAL "OFF")
  if(NOT SPRY_CUDA_ARCHITECTURES)
    find_program(SPRY_NVIDIA_SMI nvidia-smi)
    set(gpu_seen 1)
    if(SPRY_NVIDIA_SMI)
      execute_process(COMMAND ${SPRY_NVIDIA_SMI} -L RESULT_VARIABLE gpu_seen OUTPUT_QUIET ERROR_QUIET)
    endif()
    if(gpu_seen EQUAL 0)
      set(SPRY_CUDA_ARCHITECTURES native)
    else()
      set(SPRY_CUDA_ARCHITECTURES 90)
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${SPRY_CUDA_ARCHITECTURES})
  include(CheckLanguage)
  check_language(CUDA)
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
  # MODULE: loaded at run time and linked by nobody. error.c is its own copy, so that it needs nothing of libspry.
  add_library(spry_cuda MODULE ${spry_cuda_sources} ${CMAKE_CURRENT_SOURCE_DIR}/src/core/error.c
                               ${CMAKE_CURRENT_SOURCE_DIR}/src/core/status.c)
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
