// Answers requests for the web page.
#pragma once

#include "http/router.h"

namespace voltpile::llm {

// Adds a route for each of page_files(). Browsers ask every time, and get 304 as long as they have the
// current version.
void add_page_routes(http::Router& router);

}  // namespace voltpile::llm
