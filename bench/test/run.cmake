# usage: cmake -DBENCH=<redlock-bench> -P run.cmake
# A short measurement gives JSON that tells of cycles and of nothing that went wrong.
execute_process(
    COMMAND "${BENCH}" run --local 3 --workers 4 --seconds 1 --warmup 0.2 --output json
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors
    RESULT_VARIABLE status
)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status}: ${errors}${output}")
endif()
foreach(key nodes cycles failures violations)
    string(JSON ${key} ERROR_VARIABLE error GET "${output}" ${key})
    if(error)
        message(FATAL_ERROR "${error}: ${output}")
    endif()
endforeach()
if(NOT nodes EQUAL 3 OR NOT cycles GREATER 0 OR NOT failures EQUAL 0 OR NOT violations EQUAL 0)
    message(FATAL_ERROR "${output}")
endif()
