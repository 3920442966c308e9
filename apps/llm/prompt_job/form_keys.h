// The keys of an `llm` job that say of what form all answers are: the fields of a request with these names
// (llm/grammar/response_format.h), as texts.
#pragma once

#include <optional>
#include <vector>

#include "job/job_spec.h"
#include "job/key_spec.h"
#include "llm/grammar/grammar.h"

namespace voltpile::llm {

// generate.response_format, generate.regex and generate.grammar.
std::vector<KeySpec> form_keys();

// Returns the grammar that these keys ask for; nothing if all are empty. Throws JobError without the name of
// the key.
std::optional<GrammarSource> form_of_job(const JobSpec& job);

// Reports what is wrong with these keys, the grammar itself included.
void check_form_keys(const JobSpec& job, const ReportProblem& report);

}  // namespace voltpile::llm
