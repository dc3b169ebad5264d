# cmake -DCOMMAND=PROGRAM;ARGUMENT... -DPATTERN=REGEX -P expect.cmake: the program succeeds, and what it prints is REGEX.
execute_process(COMMAND ${COMMAND} OUTPUT_VARIABLE printed ERROR_VARIABLE told RESULT_VARIABLE status)
if(status EQUAL 77)
  message("skipped, status 77: ${told}")
elseif(NOT status EQUAL 0 OR NOT printed MATCHES "^${PATTERN}$")
  message(FATAL_ERROR "status ${status}, printed\n${printed}${told}expected\n${PATTERN}")
endif()
