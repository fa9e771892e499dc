# cmake/packages.cmake — The target `packages`: Debian packages, which declare the libraries that they need,
# and a Python wheel, whose programs bring their own libraries and need only glibc. Both contain what
# install.cmake installs.

# deadrank: the component `program`. deadrank-mpi: what would otherwise make every machine install an MPI.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR deadrank)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program)
if(TARGET deadrank-mpi-rank)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The authors of deadrank <authors@deadrank.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME deadrank)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Plays bugs of distributed training in a simulated cluster or in real processes,
and judges whether the detectors noticed.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3, procps, strace")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "python3-torch, python3-pytest, nftables, iproute2, prometheus")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME deadrank-mpi)
set(CPACK_COMPONENT_MPI_DESCRIPTION
    "What deadrank runs with mpirun: ranks of its own, and campaigns over machines.")
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "deadrank (= ${PROJECT_VERSION}), openmpi-bin")
include(CPack)

# Rebuilt when a program or a file that install.cmake installs has changed.
file(GLOB_RECURSE packed CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/scenarios/*.toml
     ${CMAKE_SOURCE_DIR}/scenarios/*.py ${CMAKE_SOURCE_DIR}/sim/managed/*.py
     ${CMAKE_SOURCE_DIR}/results/*.toml ${CMAKE_SOURCE_DIR}/runners/*.toml ${CMAKE_SOURCE_DIR}/runners/*.py
     ${CMAKE_SOURCE_DIR}/inject/standin/operators/*)
file(GLOB_RECURSE pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
list(APPEND packed ${pages} ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/cmake/install.cmake
     ${CMAKE_SOURCE_DIR}/cmake/packages.cmake ${CMAKE_SOURCE_DIR}/cmake/parts.py)
get_property(programs GLOBAL PROPERTY DEADRANK_SHIMS)
get_property(standin GLOBAL PROPERTY DEADRANK_STANDIN)
list(APPEND programs ${standin})
foreach(program deadrank deadrank-gpu-rank deadrank-mpi-rank deadrank_mpi_bridge)
  if(TARGET ${program})
    list(APPEND programs ${program})
  endif()
endforeach()
set(debian_packages ${CMAKE_BINARY_DIR}/packages/debian.txt)
add_custom_command(OUTPUT ${debian_packages} DEPENDS ${programs} ${packed} VERBATIM
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} COMMENT "Debian packages"
  COMMAND ${CMAKE_CPACK_COMMAND} -G DEB > ${debian_packages}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CPACK_PACKAGE_DIRECTORY}/_CPack_Packages)
add_custom_target(packages DEPENDS ${debian_packages})

# The libraries' static archives. Debian has none for fmt and toml++, which can be used header-only.
set(archives)
foreach(name boost_fiber boost_context boost_iostreams z bz2 lzma zstd yaml-cpp pugixml sqlite3 xxhash)
  find_library(DEADRANK_ARCHIVE_${name} lib${name}.a)
  mark_as_advanced(DEADRANK_ARCHIVE_${name})
  list(APPEND archives ${DEADRANK_ARCHIVE_${name}})
  if(NOT DEADRANK_ARCHIVE_${name})
    message(STATUS "deadrank: wheel off, since there is no lib${name}.a")
    return()
  endif()
endforeach()
if(NOT TARGET deadrank_glibc_stubs)
  message(STATUS "deadrank: wheel off, since this machine is not x86-64 or has no Python")
  return()
endif()
set(carried ${CMAKE_BINARY_DIR}/generated/carried.cpp)
file(CONFIGURE OUTPUT ${carried} @ONLY CONTENT "// Written by cmake/packages.cmake: fmt and toml++ themselves.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>

#include <fmt/format-inl.h>

namespace fmt {
template detail::thousands_sep_result<char> detail::thousands_sep_impl<char>(detail::locale_ref);
template char detail::decimal_point_impl<char>(detail::locale_ref);
}  // namespace fmt
")
add_library(deadrank_carried OBJECT EXCLUDE_FROM_ALL ${carried})
target_compile_options(deadrank_carried PRIVATE -w)
set_target_properties(deadrank_carried PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_compile_definitions(deadrank_carried PRIVATE TOML_HEADER_ONLY=0)

# The stand-in's libraries are the same in every package, so they carry these as well.
foreach(target deadrank_nccl deadrank_coordinator)
  if(TARGET ${target})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:deadrank_carried>)
  endif()
endforeach()

# deadrank_alone(program): links the same objects again, into ${CMAKE_BINARY_DIR}/alone.
function(deadrank_alone program)
  set(target ${program}-alone)
  add_executable(${target} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${program}>
    $<TARGET_OBJECTS:deadrank_carried>)
  deadrank_modules_below(modules ${program})
  set(ours)
  foreach(module IN LISTS modules)
    list(APPEND ours $<TARGET_FILE:${module}>)
  endforeach()
  add_dependencies(${target} ${modules})
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc
    $<TARGET_PROPERTY:${program},LINK_OPTIONS>)
  deadrank_link_older_glibc(${target})
  target_link_libraries(${target} PRIVATE -Wl,--start-group ${ours} ${archives} -Wl,--end-group
    Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${program} LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/alone)
  set_property(GLOBAL APPEND PROPERTY DEADRANK_ALONE ${target})
endfunction()

# The folders' libraries that a program is linked to, directly or through others.
function(deadrank_modules_below out program)
  set(found)
  set(open ${program})
  while(open)
    list(POP_FRONT open at)
    get_target_property(libraries ${at} LINK_LIBRARIES)
    foreach(library IN LISTS libraries)
      if(NOT TARGET ${library} OR library IN_LIST found)
        continue()
      endif()
      get_target_property(type ${library} TYPE)
      get_target_property(imported ${library} IMPORTED)
      if(type STREQUAL STATIC_LIBRARY AND NOT imported)
        list(APPEND found ${library})
        list(APPEND open ${library})
      endif()
    endforeach()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

deadrank_alone(deadrank)
if(TARGET deadrank-gpu-rank)
  deadrank_alone(deadrank-gpu-rank)
endif()
get_property(alone GLOBAL PROPERTY DEADRANK_ALONE)
set(carried_archives ${archives})  # for the SBOM, with those of -static-libstdc++ and -static-libgcc
foreach(name stdc++ gcc gcc_eh)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${name}.a OUTPUT_VARIABLE archive
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND carried_archives ${archive})
endforeach()
set(wheel ${CMAKE_BINARY_DIR}/packages/wheel.txt)
add_custom_command(OUTPUT ${wheel} VERBATIM COMMENT "Python wheel"
  DEPENDS ${programs} ${alone} ${packed} ${CMAKE_SOURCE_DIR}/README.md
          ${CMAKE_SOURCE_DIR}/cmake/wheel.py
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/wheel.py ${CMAKE_BINARY_DIR}
          --cmake ${CMAKE_COMMAND} --strip ${CMAKE_STRIP} --readelf ${CMAKE_READELF}
          --version ${PROJECT_VERSION} --glibc ${DEADRANK_OLDEST_GLIBC} --out ${CPACK_PACKAGE_DIRECTORY}
          --archives ${carried_archives} > ${wheel})
add_custom_target(wheel DEPENDS ${wheel})
add_dependencies(packages wheel)
if(TARGET deadrank_tests)  # its tests of packages then have nothing to link
  add_dependencies(deadrank_tests ${alone})
endif()
