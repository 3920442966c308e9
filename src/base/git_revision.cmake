# Run at every build: writes OUTPUT with the present git revision, and touches it only if that has changed.
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(revision unknown)
else()
  execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND revision "+")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// Written by CMake.
#pragma once

namespace voltpile {

inline constexpr const char* git_revision = \"${revision}\";

}  // namespace voltpile
" @ONLY)
