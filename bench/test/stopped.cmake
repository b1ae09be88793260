# usage: cmake -DBENCH=<redlock-bench> -P stopped.cmake
# A master that is stopped midway is measured in two parts, and costs no cycle.
execute_process(
    COMMAND
        "${BENCH}" run --local 3 --workers 4 --seconds 2 --warmup 0.2 --stop-node 0 --stop-after 1 --output json
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors
    RESULT_VARIABLE status
)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status}: ${errors}${output}")
endif()
foreach(part healthy frozen)
    string(JSON cycles GET "${output}" ${part} cycles)
    string(JSON violations GET "${output}" ${part} violations)
    if(NOT cycles GREATER 0 OR NOT violations EQUAL 0)
        message(FATAL_ERROR "${part}: ${output}")
    endif()
endforeach()

# The table is for people, and has the same.
execute_process(
    COMMAND "${BENCH}" run --local 3 --workers 4 --seconds 0.5 --warmup 0.2 --output table
    OUTPUT_VARIABLE table
    RESULT_VARIABLE status
)
if(NOT status EQUAL 0 OR NOT table MATCHES "cycles/s" OR NOT table MATCHES "client us/cycle")
    message(FATAL_ERROR "status ${status}: ${table}")
endif()
