# redlock_measure(<variable> [argument...]): sets the output of a short run of BENCH on three local nodes, which must pass.
function(redlock_measure variable)
    execute_process(
        COMMAND "${BENCH}" run --local 3 --workers 4 --warmup 0.2 ${ARGN}
        OUTPUT_VARIABLE output
        ERROR_VARIABLE errors
        RESULT_VARIABLE status
    )
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "status ${status}: ${errors}${output}")
    endif()
    set(${variable} "${output}" PARENT_SCOPE)
endfunction()
