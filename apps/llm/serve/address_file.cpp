#include "llm/serve/address_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/seconds_since.h"
#include "base/unix_time.h"

namespace voltpile::llm {

AddressFile::AddressFile(std::filesystem::path path, std::string url, std::function<ServeLoad()> load)
    : path_(std::move(path)), url_(std::move(url)), load_(std::move(load)) {
    write_server_status(server_status_path(path_), status_after(kServerStatusPeriod_s));
    write_address();
    thread_ = std::jthread([this](const std::stop_token& stop) { renew(stop); });
}

AddressFile::~AddressFile() {
    thread_ = {};
    if (is_mine()) {
        std::remove(path_.c_str());
        std::remove(server_status_path(path_).c_str());
    }
    close(descriptor_);
}

// Under another name first, so that a reader never sees half of it.
void AddressFile::write_address() {
    const std::string unfinished = path_.string() + ".part";
    descriptor_ = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw FileError("write", unfinished, errno);
    const std::string line = url_ + "\n";
    const bool written = write(descriptor_, line.data(), line.size()) == std::ssize(line);
    if (written && std::rename(unfinished.c_str(), path_.c_str()) == 0) return;
    const int error = errno;
    close(descriptor_);
    throw FileError("write", path_.string(), error);
}

bool AddressFile::is_mine() const {
    struct stat mine {
    }, there{};
    return fstat(descriptor_, &mine) == 0 && stat(path_.c_str(), &there) == 0 &&
           mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

void AddressFile::renew(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    bool failed = false;
    auto last = std::chrono::steady_clock::now();
    while (!stop.stop_requested()) {
        never.wait_for(lock, stop, std::chrono::duration<double>(kServerStatusPeriod_s),
                       [] { return false; });
        if (stop.stop_requested() || !is_mine()) continue;
        const double seconds = seconds_since(last);
        last = std::chrono::steady_clock::now();
        try {
            write_server_status(server_status_path(path_), status_after(seconds));
            failed = false;
        } catch (const Error& error) {  // a full disk does not end a server
            if (!std::exchange(failed, true)) spdlog::warn("{}", error.what());
        }
    }
}

ServerStatus AddressFile::status_after(double seconds) {
    const ServeLoad load = load_();
    ServerStatus status;
    status.address = url_;
    status.host = host_name();
    status.process = static_cast<int>(getpid());
    status.draining = load.draining;
    status.running = load.running;
    status.waiting = load.waiting;
    status.tokens_per_s =
        static_cast<double>(load.tokens_out - std::exchange(tokens_before_, load.tokens_out)) / seconds;
    status.answered = load.answered;
    status.unix_time = static_cast<std::int64_t>(unix_time());
    return status;
}

}  // namespace voltpile::llm
