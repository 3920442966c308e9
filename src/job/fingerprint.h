// What makes two jobs the same job.
#pragma once

#include <string>

#include "job/job_spec.h"
#include "job/key_table.h"

namespace voltpile {

// One line for the app and its numerics version, for every identity key, and for every axis. Numbers are
// written with 17 significant digits, which tell any two doubles apart.
std::string canonical_text(const JobSpec& job, const AppSchema& app, const KeyTable& table);

// XXH3's 128-bit hash as 32 hexadecimal digits, most significant first.
std::string hash_128(const std::string& text);

}  // namespace voltpile
