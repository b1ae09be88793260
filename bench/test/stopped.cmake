# usage: cmake -DBENCH=<redlock-bench> -P stopped.cmake
# A run with a node that is stopped midway is measured in two parts, and loses no cycle.
include("${CMAKE_CURRENT_LIST_DIR}/measured.cmake")

redlock_measure_in_time(output "healthy/cycles;frozen/cycles" --seconds 3 --stop-node 0 --stop-after 1 --output json)
foreach(part healthy settling frozen)
    string(JSON cycles GET "${output}" ${part} cycles)
    string(JSON violations GET "${output}" ${part} violations)
    if(NOT violations EQUAL 0)
        message(FATAL_ERROR "${part}: ${output}")
    endif()
    # The tenth of a second after the stop may be too short for a cycle on a busy machine.
    if(NOT cycles GREATER 0 AND NOT part STREQUAL "settling")
        message(FATAL_ERROR "${part}: ${output}")
    endif()
    string(JSON ${part}_speed GET "${output}" ${part} cycles_per_second)
endforeach()
# As fast as before, except for the effect of a busy machine: at least a tenth.
string(REGEX REPLACE "\\..*" "" healthy_speed "${healthy_speed}")
math(EXPR least "${healthy_speed} / 10")
if(frozen_speed LESS least)
    message(FATAL_ERROR "${frozen_speed} cycles/s with a stopped master, ${healthy_speed} before")
endif()

# The memory for the stopped node's commands has a bound.
string(JSON healthy_kib GET "${output}" healthy peak_rss_kib)
string(JSON frozen_kib GET "${output}" frozen peak_rss_kib)
math(EXPR most "4 * ${healthy_kib}")
if(frozen_kib GREATER most)
    message(FATAL_ERROR "${frozen_kib} KiB with a stopped master, ${healthy_kib} before")
endif()

# The table for people has the same figures.
redlock_measure(table --seconds 0.5 --output table)
if(NOT table MATCHES "cycles/s" OR NOT table MATCHES "client us/cycle")
    message(FATAL_ERROR "${table}")
endif()
