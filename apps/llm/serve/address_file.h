// The file that says where a server listens, and the one beside it that says how busy it is.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "run/server_status.h"

namespace voltpile::llm {

// How busy a server is.
struct ServeLoad {
    bool draining = false;
    int running = 0;  // requests
    int waiting = 0;
    std::int64_t answered = 0;    // requests since the start
    std::int64_t tokens_out = 0;  // since the start
};

class AddressFile {
  public:
    // Writes both files, and renews the second one on a thread of its own. load: called on that thread.
    // Throws FileError.
    AddressFile(std::filesystem::path path, std::string url, std::function<ServeLoad()> load);
    // Removes the files, unless another server has replaced them.
    ~AddressFile();
    AddressFile(const AddressFile&) = delete;
    AddressFile& operator=(const AddressFile&) = delete;

  private:
    void write_address();
    bool is_mine() const;
    void renew(const std::stop_token& stop);
    ServerStatus status_after(double seconds);

    std::filesystem::path path_;
    std::string url_;
    std::function<ServeLoad()> load_;
    std::int64_t tokens_before_ = 0;
    int descriptor_ = -1;  // of the address file, by which others recognize the process as the server's
    std::jthread thread_;
};

}  // namespace voltpile::llm
