#include "results/change_result.h"

#include <system_error>

#include "base/error.h"
#include "results/parts/durable_file.h"

namespace voltpile {

void change_result(const std::filesystem::path& result, const std::function<void(hid_t file)>& change) {
    const std::filesystem::path target = follow_links(result);
    const std::filesystem::path temporary = temporary_name(target);
    try {
        std::error_code error;
        std::filesystem::copy_file(target, temporary, error);
        if (error) throw FileError("copy", target.string(), error.value());
        Hdf5Guard guard;
        Hdf5File file = extend_hdf5(temporary.string());
        change(file.get());
        file.close(temporary.string());
    } catch (...) {
        discard_file(temporary);
        throw;
    }
    publish_file(temporary, target);
}

}  // namespace voltpile
