# cmake/install.cmake — What `cmake --install` installs, by component: `program` with its data, `mpi` for what
# needs an MPI, and `development`, the package for find_package(deadrank), with which users write workloads,
# detectors and suites in their own tree.
include(CMakePackageConfigHelpers)

set(deadrank_data ${CMAKE_INSTALL_DATADIR}/deadrank)
set(deadrank_package ${CMAKE_INSTALL_LIBDIR}/cmake/deadrank)

install(TARGETS deadrank RUNTIME)
install(FILES scenarios/taxonomy.toml scenarios/clues.toml LICENSE DESTINATION ${deadrank_data})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY scenarios/catalog scenarios/storms DESTINATION ${deadrank_data}
        FILES_MATCHING PATTERN "*.toml" PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY scenarios/releases DESTINATION ${deadrank_data}
        FILES_MATCHING PATTERN "*.toml" PATTERN "*.py" PATTERN "*.txt" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY results/exporters/metrics results/exporters/signatures
        DESTINATION ${deadrank_data}/exporters FILES_MATCHING PATTERN "*.toml")
install(DIRECTORY results/preflight DESTINATION ${deadrank_data} FILES_MATCHING PATTERN "*.toml")
install(DIRECTORY runners/backends/local/hook runners/backends/local/subjects
        DESTINATION ${deadrank_data}/runners/backends/local
        FILES_MATCHING PATTERN "*.py" PATTERN "*.toml" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY sim/managed/python/deadrank sim/managed/python/suite_hook DESTINATION ${deadrank_data}/sim/managed/python
        FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
# The operators of simulated GPUs are compiled on the user's machine, for the torch that is installed there.
install(DIRECTORY inject/standin/operators DESTINATION ${deadrank_data}/inject/standin
        FILES_MATCHING PATTERN "*.h" PATTERN "*.cpp" PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
install(FILES inject/standin/device/captured_work.h inject/standin/device/virtual_time.h
  DESTINATION ${deadrank_data}/inject/standin/device)
install(DIRECTORY runners/promises DESTINATION ${deadrank_data}/runners
        FILES_MATCHING PATTERN "*.py" PATTERN "*.toml" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY runners/suites/pytest runners/suites/ci runners/suites/agents DESTINATION ${deadrank_data}
        PATTERN "__pycache__" EXCLUDE PATTERN "*.egg-info" EXCLUDE)

install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/manual FILES_MATCHING PATTERN "*.md")

# What it is made of, and under which licences.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${CMAKE_SOURCE_DIR}/cmake/parts.py\"
                            --version ${PROJECT_VERSION}
                            --out \"\${prefix}/${CMAKE_INSTALL_DOCDIR}\"
                    COMMAND_ERROR_IS_FATAL ANY)")
endif()

# The program writes its own man page.
install(CODE "
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  file(MAKE_DIRECTORY \"\${prefix}/${CMAKE_INSTALL_MANDIR}/man1\")
  execute_process(COMMAND \"\${prefix}/${CMAKE_INSTALL_BINDIR}/deadrank\" help manual --man
                          --out \"\${prefix}/${CMAKE_INSTALL_MANDIR}/man1/deadrank.1\"
                  COMMAND_ERROR_IS_FATAL ANY)")

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
get_property(modules GLOBAL PROPERTY DEADRANK_MODULES)
install(TARGETS ${modules} EXPORT deadrank_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/deadrank)
# The headers for a user's own workload, detector, fault, backend or suite.
get_property(headers GLOBAL PROPERTY DEADRANK_HEADERS)
foreach(header IN LISTS headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/deadrank/${folder})
endforeach()

install(EXPORT deadrank_targets NAMESPACE deadrank:: DESTINATION ${deadrank_package})
configure_package_config_file(cmake/deadrankConfig.cmake.in ${CMAKE_BINARY_DIR}/deadrankConfig.cmake
  INSTALL_DESTINATION ${deadrank_package} PATH_VARS CMAKE_INSTALL_BINDIR deadrank_data)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/deadrankConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/deadrankConfig.cmake ${CMAKE_BINARY_DIR}/deadrankConfigVersion.cmake
              runners/suites/cmake/deadrank_discover_scenarios.cmake
              runners/suites/cmake/deadrank_list_scenarios.cmake
        DESTINATION ${deadrank_package})
