# Files that `cmake --install` installs: headers, library, documentation, SpryConfig.cmake and spry.pc.

include(CMakePackageConfigHelpers)

# Builds all installed targets, except the CUDA plug-in, which takes minutes.
add_custom_target(spry_installed)
add_dependencies(spry_installed spry)

# spry_install(TARGET FOLDER [SLOW]): installs a program or module if it is built; reports it if not. The target
# spry_installed builds TARGET, unless SLOW is given.
function(spry_install target folder)
  install(TARGETS ${target} RUNTIME DESTINATION ${folder} OPTIONAL LIBRARY DESTINATION ${folder} OPTIONAL)
  install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
  message(STATUS \"Not built, so not installed: ${folder}/$<TARGET_FILE_NAME:${target}> (cmake --build builds the target ${target})\")
endif()")
  if(NOT "SLOW" IN_LIST ARGN)
    add_dependencies(spry_installed ${target})
  endif()
endfunction()

install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/spry DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "arrays.py"
        PATTERN "studies" EXCLUDE PATTERN "site" EXCLUDE PATTERN "decisions.md" EXCLUDE)
install(TARGETS spry EXPORT SpryTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(spry_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Spry)
install(EXPORT SpryTargets NAMESPACE Spry:: DESTINATION ${spry_package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SpryConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/SpryConfig.cmake
                              INSTALL_DESTINATION ${spry_package_dir})
# Before 1.0, minor versions may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/SpryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/SpryConfig.cmake ${PROJECT_BINARY_DIR}/cmake/SpryConfigVersion.cmake
        DESTINATION ${spry_package_dir})

# spry.pc computes its prefix from its own location, so the installed tree can be moved unless the folders are absolute.
set(spry_pc_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(spry_pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH spry_pc_prefix /prefix/${spry_pc_folder} /prefix)
  string(REGEX REPLACE "/$" "" spry_pc_prefix "\${pcfiledir}/${spry_pc_prefix}")
endif()
foreach(what IN ITEMS LIB INCLUDE)
  string(TOLOWER spry_pc_${what}dir variable)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${what}DIR})
    set(${variable} ${CMAKE_INSTALL_${what}DIR})
  else()
    set(${variable} "\${prefix}/${CMAKE_INSTALL_${what}DIR}")
  endif()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/spry.pc.in ${PROJECT_BINARY_DIR}/cmake/spry.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/spry.pc DESTINATION ${spry_pc_folder})
