# redlock_bench(<variable> [argument...]): sets the output of BENCH with these arguments, which must pass.
function(redlock_bench variable)
    execute_process(
        COMMAND "${BENCH}" ${ARGN}
        OUTPUT_VARIABLE output
        ERROR_VARIABLE errors
        RESULT_VARIABLE status
    )
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "status ${status}: ${errors}${output}")
    endif()
    set(${variable} "${output}" PARENT_SCOPE)
endfunction()

# redlock_measure(<variable> [argument...]): sets the output of a short run on three local nodes.
function(redlock_measure variable)
    redlock_bench(output run --local 3 --workers 4 --warmup 0.2 ${ARGN})
    set(${variable} "${output}" PARENT_SCOPE)
endfunction()

# redlock_measure_in_time(<variable> <keys> [argument...]): measures again while one of the figures is zero. On a busy machine the
# workers, or the nodes, may get no processor in so short a time.
function(redlock_measure_in_time variable keys)
    foreach(run RANGE 9)
        redlock_measure(measured ${ARGN})
        set(is_late FALSE)
        foreach(key IN LISTS keys)
            string(REPLACE "/" ";" path "${key}")
            string(JSON figure GET "${measured}" ${path})
            if(figure EQUAL 0)
                set(is_late TRUE)
            endif()
        endforeach()
        if(NOT is_late)
            break()
        endif()
    endforeach()
    set(${variable} "${measured}" PARENT_SCOPE)
endfunction()
