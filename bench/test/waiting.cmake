# Those who wait get their turn, and take little memory.
#   cmake -DWAIT=<redlock-wait> -P waiting.cmake
function(expect_waiters locks most_bytes)
    execute_process(
        COMMAND "${WAIT}" --waiters 20000 --locks ${locks} --seconds 1 --warmup 0.1 --json
        OUTPUT_VARIABLE output
        ERROR_VARIABLE errors
        RESULT_VARIABLE status
    )
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${locks} locks: status ${status}: ${errors}${output}")
    endif()
    string(JSON bytes GET "${output}" bytes_per_waiter)
    if(bytes GREATER most_bytes)
        message(FATAL_ERROR "${locks} locks: ${bytes} bytes a waiter, more than ${most_bytes}")
    endif()
endfunction()

# 800 on the machine that docs/benchmarks/contention.md names. Where each has a line of its own it is 1200
# of a hundred thousand, and 1300 of so few, for whom the tables have just grown.
expect_waiters(1 900)
expect_waiters(20000 1500)
