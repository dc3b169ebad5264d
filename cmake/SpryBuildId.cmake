# cmake -DROOT=... -DVERSION=... -DOUTPUT=... -P SpryBuildId.cmake: writes build_id.h, by which libspry and its CUDA
# plug-in know that they are of one build. It changes with any header that both are compiled with.
file(GLOB_RECURSE headers ${ROOT}/include/*.h ${ROOT}/src/core/*.h ${ROOT}/src/formats/*.h
     ${ROOT}/src/solve/*.h)
list(SORT headers)
set(all "${VERSION}")
foreach(header IN LISTS headers)
  file(SHA1 ${header} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA1 id "${all}")
string(SUBSTRING ${id} 0 12 id)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "/* Made by cmake/SpryBuildId.cmake. */\n#define SPRYI_BUILD_ID \"${VERSION}-${id}\"\n" @ONLY)
