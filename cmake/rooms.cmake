# cmake/rooms.cmake — One static library a room: deadrank_room(name DIRECTORY … DEPS … LIBS … EXCLUDE …).
# Sources are globbed, so a new file needs no edit here; DEPS are the rooms it may include.
function(deadrank_room name)
  cmake_parse_arguments(room "" "" "DEPS;LIBS;PRIVATE_LIBS;ONLY;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(room_ONLY)
    list(JOIN room_ONLY "|" pattern)
    list(FILTER sources INCLUDE REGEX "${pattern}")
  endif()
  foreach(pattern IN LISTS room_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  list(TRANSFORM room_DEPS PREPEND deadrank_)
  # A room that is still empty is a library of headers.
  if(sources)
    add_library(deadrank_${name} STATIC ${sources})
    target_include_directories(deadrank_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/deadrank>
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(deadrank_${name} PUBLIC ${room_DEPS} ${room_LIBS} PRIVATE ${room_PRIVATE_LIBS})
  else()
    add_library(deadrank_${name} INTERFACE)
    target_include_directories(deadrank_${name} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/deadrank>
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(deadrank_${name} INTERFACE ${room_DEPS} ${room_LIBS} ${room_PRIVATE_LIBS})
  endif()
endfunction()

# Which commit this is. The header is rewritten only when the answer changed, so a second build is free.
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
endfunction()

# deadrank_assets(target directory files…): text files into the target, behind <directory>/assets.h.
function(deadrank_assets target room)
  set(out ${CMAKE_BINARY_DIR}/generated/${room}/assets.cpp)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/${room}/ OUTPUT_VARIABLE paths)
  list(JOIN ARGN "," names)
  add_custom_command(OUTPUT ${out} DEPENDS ${paths} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAMES=${names} -DROOM=${room} -DFROM=${CMAKE_SOURCE_DIR}/${room}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "" VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
