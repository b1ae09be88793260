# install(), the CMake package and the pkg-config file. The components become packages of their own (package.cmake):
# what a program needs to run, what it needs to be built, and the command.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/redlock")

install(
    TARGETS redlock
    EXPORT redlockTargets
    ARCHIVE COMPONENT redlock_dev
    LIBRARY COMPONENT redlock_library NAMELINK_COMPONENT redlock_dev
    RUNTIME COMPONENT redlock_library
    FILE_SET HEADERS COMPONENT redlock_dev
)
if(REDLOCK_TESTING)
    install(
        TARGETS redlock_testing
        EXPORT redlockTargets
        ARCHIVE COMPONENT redlock_dev
        FILE_SET HEADERS COMPONENT redlock_dev
    )
endif()
install(
    EXPORT redlockTargets
    NAMESPACE redlock::
    DESTINATION "${package_dir}"
    COMPONENT redlock_dev
)

configure_package_config_file(
    lib/cmake/redlockConfig.cmake.in redlockConfig.cmake INSTALL_DESTINATION "${package_dir}"
)
write_basic_package_version_file(redlockConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
    FILES "${PROJECT_BINARY_DIR}/redlockConfig.cmake" "${PROJECT_BINARY_DIR}/redlockConfigVersion.cmake"
    DESTINATION "${package_dir}"
    COMPONENT redlock_dev
)

# Relative to the .pc file where possible, so that an installed tree may be moved.
set(REDLOCK_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
foreach(dir LIBDIR INCLUDEDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
        set(REDLOCK_PC_${dir} "${CMAKE_INSTALL_${dir}}")
    else()
        set(REDLOCK_PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
    endif()
endforeach()
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(REDLOCK_PC_PREFIX "\${pcfiledir}/${up}")
endif()

set(pc_requires "")
if(REDLOCK_TLS)
    set(pc_requires "openssl >= 3")
endif()
if(redlock_type STREQUAL "SHARED_LIBRARY")
    set(REDLOCK_PC_CFLAGS "-pthread -DREDLOCK_SHARED")
    set(REDLOCK_PC_PRIVATE "Requires.private: ${pc_requires}\nLibs.private: -pthread")
else()
    # Without a shared library a user links what the library uses, whether he says --static or not.
    set(REDLOCK_PC_CFLAGS "-pthread")
    set(REDLOCK_PC_PRIVATE "Requires: ${pc_requires}\nLibs.private: -pthread")
endif()
configure_file(lib/cmake/redlock.pc.in redlock.pc @ONLY)
install(
    FILES "${PROJECT_BINARY_DIR}/redlock.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT redlock_dev
)
if(REDLOCK_TESTING)
    configure_file(lib/cmake/redlock-testing.pc.in redlock-testing.pc @ONLY)
    install(
        FILES "${PROJECT_BINARY_DIR}/redlock-testing.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT redlock_dev
    )
endif()

if(REDLOCK_CLI)
    install(TARGETS redlock_command RUNTIME COMPONENT redlock_command)
endif()
# What a shell and man(1) know of the command, written by itself.
if(REDLOCK_CLI AND NOT CMAKE_CROSSCOMPILING)
    set(words_dir "${PROJECT_BINARY_DIR}/words")
    set(words "")
    # redlock_word(<file> <argument...>): what the command prints, given these.
    function(redlock_word file)
        add_custom_command(
            OUTPUT "${words_dir}/${file}"
            COMMAND "${CMAKE_COMMAND}" -E make_directory "${words_dir}"
            COMMAND redlock_command ${ARGN} > "${words_dir}/${file}"
            DEPENDS redlock_command
            VERBATIM
        )
        set(words ${words} "${words_dir}/${file}" PARENT_SCOPE)
    endfunction()
    redlock_word(redlock completion bash)
    redlock_word(_redlock completion zsh)
    redlock_word(redlock.fish completion fish)
    # Only the command knows which pages there are; of one that is gone nothing is left.
    set(pages_dir "${words_dir}/man1")
    add_custom_command(
        OUTPUT "${pages_dir}/redlock.1"
        COMMAND "${CMAKE_COMMAND}" -E rm -rf "${pages_dir}"
        COMMAND redlock_command manual --all "${pages_dir}"
        DEPENDS redlock_command
        VERBATIM
    )
    add_custom_target(redlock_words ALL DEPENDS ${words} "${pages_dir}/redlock.1")
    install(
        DIRECTORY "${pages_dir}/"
        DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
        COMPONENT redlock_command
    )
    install(
        FILES "${words_dir}/redlock"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
        COMPONENT redlock_command
    )
    install(
        FILES "${words_dir}/_redlock"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
        COMPONENT redlock_command
    )
    install(
        FILES "${words_dir}/redlock.fish"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
        COMPONENT redlock_command
    )
endif()
