# The build's id, by which libspry and its CUDA plug-in know that they are of one build. It changes with the version and
# with any file that both are compiled with. Included, it tells these files; as a script it writes build_id.h:
#   cmake -DROOT=... -DVERSION=... -DOUTPUT=... -P SpryBuildId.cmake

# Sources, under src/, of which libspry and the plug-in have a copy each.
set(spry_cuda_shared base/error.c formats/bsr/bsr_cost.c formats/packed/packed_cost.c
                     formats/sell/sell_cost.c formats/swept/swept_cost.c formats/windowed/windowed_cost.c)

# spry_build_id_files(LIST ROOT [CONFIGURE_DEPENDS]): all headers, since any may come to be of the plug-in's interface,
# and the shared sources.
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
