# cmake/glibc.cmake — Links what the wheel carries so that it runs with a glibc older than this machine's.
set(DEADRANK_OLDEST_GLIBC 2.28)

# deadrank_link_older_glibc(target): nothing is compiled again. Does nothing off x86-64, where there is no wheel.
function(deadrank_link_older_glibc target)
  if(TARGET deadrank_glibc_stubs)
    add_dependencies(${target} deadrank_glibc_stubs)
    target_link_options(${target} PRIVATE -L${CMAKE_BINARY_DIR}/glibc)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${CMAKE_BINARY_DIR}/glibc/libc.so)
  endif()
endfunction()

find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR DEADRANK_SANITIZE)
  return()
endif()
set(glibc ${CMAKE_CURRENT_LIST_DIR}/glibc)
file(GLOB functions CONFIGURE_DEPENDS ${glibc}/*.c)
# One object a function: a program takes what it calls. Hidden: no library exports it.
add_library(deadrank_glibc STATIC EXCLUDE_FROM_ALL ${functions})
set_target_properties(deadrank_glibc PROPERTIES C_VISIBILITY_PRESET hidden UNITY_BUILD OFF)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/glibc/libc.so VERBATIM
  DEPENDS deadrank_glibc ${glibc}/stubs.py COMMENT "Stubs of glibc ${DEADRANK_OLDEST_GLIBC}"
  COMMAND ${Python3_EXECUTABLE} ${glibc}/stubs.py ${CMAKE_BINARY_DIR}/glibc --glibc ${DEADRANK_OLDEST_GLIBC}
          --archive $<TARGET_FILE:deadrank_glibc> --cc ${CMAKE_C_COMPILER} --readelf ${CMAKE_READELF})
add_custom_target(deadrank_glibc_stubs DEPENDS ${CMAKE_BINARY_DIR}/glibc/libc.so)
