# cmake/modules.cmake — One folder is one static library: deadrank_module(folder USES folders… LIBS
# libraries…). USES lists the folders that a folder may include, and no others (tests/tidy_test.cpp checks
# them).

# The target of a folder: sim/engine is deadrank_sim_engine.
function(deadrank_targets out)
  set(targets)
  foreach(folder IN LISTS ARGN)
    string(REPLACE "/" "_" name ${folder})
    list(APPEND targets deadrank_${name})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# Sources are globbed, so a new file needs no edit here. HEADERS are the folder's public ones: they alone are
# installed, and include each other alone. COLD: code that runs once per command is compiled with -O1, in two
# thirds of the time. HOT: what simulated jobs spend their time in has -O3, which makes them 6 % faster.
function(deadrank_module folder)
  cmake_parse_arguments(module "COLD;HOT" "" "USES;LIBS;PRIVATE_LIBS;HEADERS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "main\\.cpp$")
  deadrank_targets(target ${folder})
  deadrank_targets(uses ${module_USES})
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/deadrank>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${uses} ${module_LIBS} PRIVATE ${module_PRIVATE_LIBS})
  # Position-independent code keeps every function replaceable, and so not inlined. A module's are replaced by
  # nobody; those of shims and stand-ins are, as a real library's.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition
                         $<$<CONFIG:RelWithDebInfo>:-D_FORTIFY_SOURCE=2>)
  if(module_COLD)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  elseif(module_HOT)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O3>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow)  # false alarms at -O3 on fmt's buffers
    endif()
  endif()
  string(REPLACE "deadrank_" "" export ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export})
  set_property(GLOBAL APPEND PROPERTY DEADRANK_MODULES ${target})
  list(TRANSFORM module_HEADERS PREPEND ${folder}/)
  set_property(GLOBAL APPEND PROPERTY DEADRANK_HEADERS ${module_HEADERS})
endfunction()

# Writes the commit into a header, only when it has changed, so that a second build is free.
function(deadrank_build_id)
  set(header ${CMAKE_BINARY_DIR}/generated/deadrank_build_id.h)
  add_custom_target(deadrank_build_id_header
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DHEADER=${header} -DVERSION=${PROJECT_VERSION}
            "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
            -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
            -P ${CMAKE_SOURCE_DIR}/cmake/build_id.cmake
    BYPRODUCTS ${header} COMMENT "" VERBATIM)
  add_library(deadrank_build_id INTERFACE)
  target_include_directories(deadrank_build_id INTERFACE $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>)
  add_dependencies(deadrank_build_id deadrank_build_id_header)
  set_target_properties(deadrank_build_id PROPERTIES EXPORT_NAME build_id)
  set_property(GLOBAL APPEND PROPERTY DEADRANK_MODULES deadrank_build_id)
endfunction()

# deadrank_assets(target header directory files…): embeds text files in the target, declared by `header`.
function(deadrank_assets target header folder)
  set(out ${CMAKE_BINARY_DIR}/generated/${folder}/assets.cpp)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/${folder}/ OUTPUT_VARIABLE paths)
  list(JOIN ARGN "," names)
  add_custom_command(OUTPUT ${out} DEPENDS ${paths} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAMES=${names} -DHEADER=${header}
            -DFROM=${CMAKE_SOURCE_DIR}/${folder}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "" VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
