# Script: installs the library from BUILD_DIR into a folder below WORK_DIR, then builds and runs this project against it.
# CONFIG, GENERATOR, CXX and FLAGS are those of the library, VERSION is the release that must be found.
file(REMOVE_RECURSE ${WORK_DIR})

function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${WORK_DIR}/prefix)
step(
  ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK_DIR}/build -G ${GENERATOR} -D CMAKE_BUILD_TYPE=${CONFIG}
  -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix -D CMAKE_CXX_COMPILER=${CXX} -D "CMAKE_CXX_FLAGS=${FLAGS}"
  -D WANTED_VERSION=${VERSION})
step(${CMAKE_COMMAND} --build ${WORK_DIR}/build --config ${CONFIG})
step(${WORK_DIR}/build/consumer)
step(${WORK_DIR}/build/everything)
