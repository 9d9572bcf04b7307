# Script: writes OUTPUT from version.cpp.in with VERSION, COMPILER and the commit of SOURCE_DIR, and leaves the file
# alone when nothing has changed. A source tree without git history, or without git, has the commit "unknown".
set(COMMIT unknown)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE_DIR}/.git)
  set(git ${GIT} --no-optional-locks -C ${SOURCE_DIR})
  execute_process(COMMAND ${git} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE commit RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(COMMIT ${commit})
    execute_process(COMMAND ${git} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      string(APPEND COMMIT -modified)
    endif()
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.cpp.in ${OUTPUT} @ONLY)
