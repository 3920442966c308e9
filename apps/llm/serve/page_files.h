// The files of the web page, which are part of the program: page/ embedded by page_files.cmake.
#pragma once

#include <span>
#include <string_view>

namespace voltpile::llm {

struct PageFile {
    std::string_view path;  // where the server has it: "/", "/page/main.js"
    std::string_view content_type;
    std::string_view etag;  // with its quotes; changes with the body
    std::string_view body;
};

std::span<const PageFile> page_files();

// Returns the Content-Security-Policy of the page: its own files and its own server, no inline code, no
// markup from strings.
std::string_view page_security_policy();

}  // namespace voltpile::llm
