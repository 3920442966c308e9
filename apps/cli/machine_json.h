// A host and the verdict about it as JSON, for `voltpile topo --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "plan/topology.h"

namespace voltpile::cli {

nlohmann::json machine_json(const Host& host);

}  // namespace voltpile::cli
