# cmake -DCOMMAND=PROGRAM;ARGUMENT... -DPATTERN=REGEX -P expect.cmake: checks that the program succeeds and that its
# whole output matches REGEX.
execute_process(COMMAND ${COMMAND} OUTPUT_VARIABLE printed ERROR_VARIABLE errors RESULT_VARIABLE status)
if(status EQUAL 77)
  message("skipped, status 77: ${errors}")
elseif(NOT status EQUAL 0 OR NOT printed MATCHES "^${PATTERN}$")
  message(FATAL_ERROR "status ${status}, printed\n${printed}${errors}expected\n${PATTERN}")
endif()
