# Run by ctest: <source> must be refused with a message that its first line expects,
#     // expect: <regular expression>
# and must be accepted with REDLOCK_TWIN defined, so that it is refused for that one reason.
file(STRINGS "${source}" first_line LIMIT_COUNT 1)
if(NOT first_line MATCHES "^// expect: (.+)$")
    message(FATAL_ERROR "${source}: the first line does not say what to expect")
endif()
set(expected "${CMAKE_MATCH_1}")

set(ENV{LC_ALL} C)
set(command "${compiler}" ${flags} -fsyntax-only -include "${headers}" "${source}")

execute_process(COMMAND ${command} -DREDLOCK_TWIN RESULT_VARIABLE result ERROR_VARIABLE message)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "the twin was refused:\n${message}")
endif()

execute_process(COMMAND ${command} RESULT_VARIABLE result ERROR_VARIABLE message)
if(result EQUAL 0)
    message(FATAL_ERROR "compiled, although it should not")
elseif(NOT message MATCHES "${expected}")
    message(FATAL_ERROR "refused, but not with \"${expected}\":\n${message}")
endif()
