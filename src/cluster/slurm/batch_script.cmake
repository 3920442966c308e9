# slurm/run.sbatch becomes part of the program, so that there is one source of the batch script's body.
set(VOLTPILE_RUN_SBATCH_FILE ${PROJECT_SOURCE_DIR}/slurm/run.sbatch)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${VOLTPILE_RUN_SBATCH_FILE})
file(READ ${VOLTPILE_RUN_SBATCH_FILE} VOLTPILE_RUN_SBATCH)
configure_file(${CMAKE_CURRENT_LIST_DIR}/run_sbatch_text.cpp.in ${PROJECT_BINARY_DIR}/generated/run_sbatch_text.cpp @ONLY)
target_sources(voltpile_cluster PRIVATE ${PROJECT_BINARY_DIR}/generated/run_sbatch_text.cpp)
