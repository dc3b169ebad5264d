# The build id, with which libspry and its CUDA plug-in check that they are from one build. The id depends on the
# version and on all files that both compile. If included, this file defines the list of these files; as a script it
# writes build_id.h:
#   cmake -DROOT=... -DVERSION=... -DOUTPUT=... -P SpryBuildId.cmake

# Sources under src/ that are compiled into libspry and into the plug-in.
set(spry_cuda_shared base/error.c formats/bsr/bsr_cost.c formats/packed/packed_cost.c
                     formats/sell/sell_cost.c formats/swept/swept_cost.c formats/windowed/windowed_cost.c)

# spry_build_id_files(LIST ROOT [CONFIGURE_DEPENDS]): sets LIST to the shared sources and all headers, because any
# header may be part of the plug-in's interface.
function(spry_build_id_files list root)
  file(GLOB_RECURSE files ${ARGN} ${root}/include/*.h ${root}/src/*.h ${root}/study/kernels/*.h)
  list(TRANSFORM spry_cuda_shared PREPEND ${root}/src/ OUTPUT_VARIABLE shared)
  list(APPEND files ${shared})
  list(SORT files)
  set(${list} ${files} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  spry_build_id_files(files ${ROOT})
  set(all "${VERSION}")
  foreach(file IN LISTS files)
    file(SHA1 ${file} hash)
    string(APPEND all ${hash})
  endforeach()
  string(SHA1 id "${all}")
  string(SUBSTRING ${id} 0 12 id)
  file(CONFIGURE OUTPUT ${OUTPUT} @ONLY
       CONTENT "/* Made by cmake/SpryBuildId.cmake. */\n#define SPRYI_BUILD_ID \"${VERSION}-${id}\"\n")
endif()
