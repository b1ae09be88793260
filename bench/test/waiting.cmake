# Those who wait get their turn, and take little memory.
#   cmake -DWAIT=<redlock-wait> -P waiting.cmake
execute_process(
    COMMAND "${WAIT}" --waiters 20000 --seconds 1 --warmup 0.1 --json
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors
    RESULT_VARIABLE status
)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status}: ${errors}${output}")
endif()
# 800 on the machine that docs/benchmarks.md tells of.
set(most_bytes 900)
string(JSON bytes GET "${output}" bytes_per_waiter)
if(bytes GREATER most_bytes)
    message(FATAL_ERROR "a waiter takes ${bytes} bytes, more than ${most_bytes}")
endif()
