# Waiters get their turn, and use little memory.
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

# 800 bytes on the machine that docs/benchmarks/contention.md names. With a wait queue for each waiter it is 1200
# for a hundred thousand waiters. For so few it is 1300, because the tables have just grown.
expect_waiters(1 900)
expect_waiters(20000 1500)
