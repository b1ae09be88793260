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
# What is measured is there, and what has an order has it.
foreach(key acquire release)
    foreach(share p50 p99 p999)
        string(JSON ${key}_${share} GET "${output}" ${key}_${share}_us)
    endforeach()
    if(NOT ${key}_p50 GREATER 0 OR ${key}_p50 GREATER ${key}_p99 OR ${key}_p99 GREATER ${key}_p999)
        message(FATAL_ERROR "percentiles: ${output}")
    endif()
endforeach()
foreach(key cycles_per_second client_cpu_us_per_cycle server_cpu_us_per_cycle peak_rss_kib)
    string(JSON ${key} GET "${output}" ${key})
    if(NOT ${key} GREATER 0)
        message(FATAL_ERROR "${key}: ${output}")
    endif()
endforeach()
string(JSON allocations GET "${output}" allocations_per_cycle)
if(allocations STREQUAL "" OR allocations GREATER 4)
    message(FATAL_ERROR "allocations: ${output}")
endif()
if(NOT nodes EQUAL 3 OR NOT cycles GREATER 0 OR NOT failures EQUAL 0 OR NOT violations EQUAL 0)
    message(FATAL_ERROR "${output}")
endif()
