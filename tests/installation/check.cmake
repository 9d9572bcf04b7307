# Script: builds and runs the project beside it against the installation in PREFIX, by find_package and by pkg-config.
# CONFIG, GENERATOR, CXX and FLAGS are those of the library, VERSION is the release that must be found.
file(REMOVE_RECURSE ${WORK_DIR})

function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

step(
  ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK_DIR}/build -G ${GENERATOR} -D CMAKE_BUILD_TYPE=${CONFIG}
  -D CMAKE_PREFIX_PATH=${PREFIX} -D CMAKE_CXX_COMPILER=${CXX} -D "CMAKE_CXX_FLAGS=${FLAGS}"
  -D WANTED_VERSION=${VERSION})
step(${CMAKE_COMMAND} --build ${WORK_DIR}/build --config ${CONFIG})
step(${WORK_DIR}/build/pendulum)
step(${WORK_DIR}/build/features)
step(${WORK_DIR}/build/extensions)
step(${WORK_DIR}/build/everything)

# Every object of the library again, so that no library is missing from kreisel.pc.
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --modversion kreisel OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT found STREQUAL VERSION)
  message(FATAL_ERROR "pkg-config finds version ${found}, expected ${VERSION}")
endif()
foreach(kind cflags libs)
  execute_process(COMMAND pkg-config --${kind} kreisel OUTPUT_VARIABLE ${kind} OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(${kind} UNIX_COMMAND "${${kind}}")
endforeach()
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
step(
  ${CXX} -std=c++20 ${flags} -DWANTED_VERSION="${VERSION}" ${cflags} ${CMAKE_CURRENT_LIST_DIR}/pendulum.cpp -o ${WORK_DIR}/by_pkg_config
  -Wl,--whole-archive ${libs} -Wl,--no-whole-archive)
step(${WORK_DIR}/by_pkg_config)
