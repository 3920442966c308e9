// The fingerprint of a job: equal for two jobs that must compute the same result.
#pragma once

#include <string>

#include "job/job_spec.h"
#include "job/key_table.h"

namespace voltpile {

// Returns what the fingerprint is computed from: a line for the app and its numerics version, one for each
// identity key and one for each axis. Numbers have 17 significant digits, enough to distinguish all doubles.
std::string canonical_text(const JobSpec& job, const AppSchema& app, const KeyTable& table);

// Returns the 128-bit XXH3 hash as 32 hexadecimal digits, most significant first.
std::string hash_128(const std::string& text);

}  // namespace voltpile
