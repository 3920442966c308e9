// The files of the page of `voltpile view`, which are part of the program: page/ embedded by
// page_files.cmake.
#pragma once

#include <span>
#include <string_view>

namespace voltpile {

struct ViewPageFile {
    std::string_view path;  // where the server has it: "/", "/view.js"
    std::string_view content_type;
    std::string_view body;
};

std::span<const ViewPageFile> view_page_files();

}  // namespace voltpile
