// The keys that all jobs of language models have: the tables [model] and [engine].
#pragma once

#include <vector>

#include "job/job_spec.h"
#include "job/key_spec.h"

namespace voltpile::llm {

// Returns the keys of [model], which say where the weights come from.
std::vector<KeySpec> model_keys();

// Returns the keys of [engine]. usual_context: the context that engine.context = 0 stands for, at most; 0:
// that of the model.
std::vector<KeySpec> engine_keys(int usual_context = 0);

// Reports what is wrong with the values of [model].
void check_model_keys(const JobSpec& job, const ReportProblem& report);

}  // namespace voltpile::llm
