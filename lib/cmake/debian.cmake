# cpack runs this script when the files of each package are in place. It adds the licence and the changelog, which
# Debian requires in every package, and compresses the files that Debian wants compressed. With -n, gzip stores no time,
# so the packages are reproducible.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH source)
cmake_path(GET source PARENT_PATH source)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER "${component}" name)
    set(share "${CPACK_TEMPORARY_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}/share")
    set(doc "${share}/doc/${CPACK_DEBIAN_${name}_PACKAGE_NAME}")
    configure_file("${source}/LICENSE" "${doc}/copyright" COPYONLY NO_SOURCE_PERMISSIONS)
    configure_file("${source}/CHANGELOG.md" "${doc}/changelog" COPYONLY NO_SOURCE_PERMISSIONS)
    if(EXISTS "${share}/zsh/site-functions")
        # Debian's zsh searches this folder for the completions of packages.
        file(RENAME "${share}/zsh/site-functions" "${share}/zsh/vendor-completions")
    endif()
    file(GLOB pages "${share}/man/man1/*.1")
    execute_process(COMMAND gzip -9n ${pages} "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
