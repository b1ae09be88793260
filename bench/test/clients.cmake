# usage: cmake -DBENCH=<redlock-bench> -P clients.cmake
# Several threads, locks that are held beside the cycles, a strand, a node that dies, and a client's first lock.
include("${CMAKE_CURRENT_LIST_DIR}/measured.cmake")

redlock_measure_in_time(
    output least_cycles_of_a_worker --seconds 0.5 --threads 3 --held 300 --thread-safe --output json --no-fencing
    --node-timeout 2000 --ttl 8000
)
foreach(key workers cycles failures violations least_cycles_of_a_worker)
    string(JSON ${key} GET "${output}" ${key})
endforeach()
# All threads take part.
if(NOT workers EQUAL 4 OR NOT failures EQUAL 0 OR NOT violations EQUAL 0)
    message(FATAL_ERROR "${output}")
endif()
if(NOT least_cycles_of_a_worker GREATER 0)
    message(FATAL_ERROR "a worker without a cycle: ${output}")
endif()

redlock_measure_in_time(
    output "healthy/cycles;frozen/cycles" --seconds 2 --stop-node 1 --stop-after 0.5 --stop-with kill --output json
)
foreach(part healthy frozen)
    string(JSON cycles GET "${output}" ${part} cycles)
    string(JSON violations GET "${output}" ${part} violations)
    if(NOT cycles GREATER 0 OR NOT violations EQUAL 0)
        message(FATAL_ERROR "${part}: ${output}")
    endif()
endforeach()

# redlock_refuse(<message> [argument...]): the program must refuse these arguments together.
function(redlock_refuse message)
    execute_process(
        COMMAND "${BENCH}" run ${ARGN}
        RESULT_VARIABLE status
        ERROR_VARIABLE errors
    )
    if(status EQUAL 0 OR NOT errors MATCHES "${message}")
        message(FATAL_ERROR "${ARGN}: ${status}: ${errors}")
    endif()
endfunction()
redlock_refuse("--threads must not be more than --workers" --threads 5 --workers 4)
redlock_refuse("--ttl must be at least four times --node-timeout" --node-timeout 500 --ttl 1999)

redlock_bench(output start --local 3 --times 5)
foreach(key times first_lock_p50_us first_lock_p99_us)
    string(JSON ${key} GET "${output}" ${key})
endforeach()
if(NOT times EQUAL 5 OR NOT first_lock_p50_us GREATER 0 OR first_lock_p50_us GREATER first_lock_p99_us)
    message(FATAL_ERROR "${output}")
endif()
