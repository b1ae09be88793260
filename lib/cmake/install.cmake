# install(), the CMake package and the pkg-config file. package.cmake turns each component into a package:
# the files that a program needs at run time, the files that it needs for its build, and the command.
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

# The paths are relative to the .pc file if possible, so that users can move an installed tree.
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
    # Users of a static library also link its dependencies, with and without --static.
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
if(TARGET redlock_words)
    install(
        DIRECTORY "${PROJECT_BINARY_DIR}/words/man1/"
        DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
        COMPONENT redlock_command
    )
    install(
        FILES "${PROJECT_BINARY_DIR}/words/redlock"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
        COMPONENT redlock_command
    )
    install(
        FILES "${PROJECT_BINARY_DIR}/words/_redlock"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
        COMPONENT redlock_command
    )
    install(
        FILES "${PROJECT_BINARY_DIR}/words/redlock.fish"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
        COMPONENT redlock_command
    )
endif()
