# cmake -DPROGRAM=spry -DFOLDER=share -P manual.cmake: writes man pages and completions that the program prints.
function(generate file)
  execute_process(COMMAND ${PROGRAM} help --generate ${ARGN} OUTPUT_FILE ${FOLDER}/${file} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${PROGRAM} help --generate ${ARGN}: ${failed}")
  endif()
endfunction()

file(MAKE_DIRECTORY ${FOLDER}/man/man1 ${FOLDER}/bash-completion/completions ${FOLDER}/zsh/site-functions
     ${FOLDER}/fish/vendor_completions.d)
generate(man/man1/spry.1 man)
file(STRINGS ${FOLDER}/man/man1/spry.1 commands REGEX "^\\.It Xr spry-")
foreach(command IN LISTS commands)
  string(REGEX REPLACE "^\\.It Xr spry-([a-z]+) 1$" "\\1" name "${command}")
  generate(man/man1/spry-${name}.1 man ${name})
endforeach()
generate(bash-completion/completions/spry bash)
generate(zsh/site-functions/_spry zsh)
generate(fish/vendor_completions.d/spry.fish fish)
