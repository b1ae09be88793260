# usage: cmake -DBENCH=<redlock-bench> -P contend.cmake
# Every contender gets the lock, in each way of waiting, and no contender while another one holds it.
include("${CMAKE_CURRENT_LIST_DIR}/measured.cmake")

set(results "${CMAKE_CURRENT_BINARY_DIR}/contend-test.json")
# Again while a contender got no lock: on a busy machine it may get no processor in so short a time.
foreach(run RANGE 9)
    redlock_bench(
        output contend --node-count 3 --hold 0 --seconds 0.6 --warmup 0.2 --delay 5 --json "${results}"
    )
    file(READ "${results}" all)
    file(REMOVE "${results}")
    if(NOT all MATCHES "\"grants\": ?0[,}]")
        break()
    endif()
endforeach()
string(JSON count LENGTH "${all}")
if(NOT count EQUAL 9)
    message(FATAL_ERROR "${count} results: ${all}")
endif()
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
    foreach(key name grants violations wait_p50_us wait_p99_us hand_over_p50_us commands_per_node_and_grant)
        string(JSON ${key} GET "${all}" ${i} ${key})
    endforeach()
    if(NOT grants GREATER 0 OR NOT violations EQUAL 0 OR NOT hand_over_p50_us GREATER 0)
        message(FATAL_ERROR "${name}: ${all}")
    endif()
    if(wait_p50_us GREATER wait_p99_us OR commands_per_node_and_grant LESS 2)
        message(FATAL_ERROR "${name}: ${all}")
    endif()
endforeach()
