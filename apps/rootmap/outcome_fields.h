// Describes the fields that a root map can write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rootmap/outcome.h"
#include "rootmap/problem.h"
#include "sweep/outcome_field.h"

namespace voltpile::rootmap {

// Returns the names of all fields, indexed by Field: the choices of the job key output.fields.
std::vector<std::string> field_names();

// Returns the help of the job key output.fields: what each field is.
std::string fields_help();

// name: one of field_names(). Throws std::logic_error for any other. problem: for words about its roots.
OutcomeField outcome_field(std::string_view name, const Problem& problem);

// Whether the method has the field. name: as above.
bool provides(Method method, std::string_view name);

}  // namespace voltpile::rootmap
