#include "results/hdf5/child_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "results/parts/durable_file.h"

namespace voltpile {
namespace {

void write_text_to(std::FILE* out, const std::string& text) {
    std::fwrite(text.c_str(), 1, text.size() + 1, out);
}

void write_damage(std::FILE* out, const Damage& damage) {
    for (const std::string& text : {damage.where, std::to_string(damage.points.begin),
                                    std::to_string(damage.points.end), damage.problem})
        write_text_to(out, text);
}

[[noreturn]] void run_check(int to, Damage failed, const std::filesystem::path& path,
                            const std::function<std::vector<Damage>(hid_t)>& check) {
    std::FILE* out = ::fdopen(to, "w");
    try {
        Hdf5Guard guard;
        Hdf5File file;
        try {
            file = open_hdf5(path.string());
        } catch (const FileError&) {
            // The check says what is wrong.
        }
        for (const Damage& each : check(file.get())) write_damage(out, each);
    } catch (const std::exception& error) {
        failed.problem = error.what();
        write_damage(out, failed);
    }
    std::fflush(out);
    ::_exit(0);
}

std::string read_to_end(int from) {
    std::string text;
    std::array<char, 4096> block{};
    for (ssize_t size = 0; (size = ::read(from, block.data(), block.size())) != 0;) {
        if (size < 0 && errno != EINTR) break;
        if (size > 0) text.append(block.data(), static_cast<std::size_t>(size));
    }
    return text;
}

}  // namespace

std::vector<Damage> check_in_child(Damage crashed, const std::filesystem::path& path,
                                   const std::function<std::vector<Damage>(hid_t)>& check) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw FileError("read", path.string(), errno);
    FileDescriptor from(ends[0]), to(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) throw FileError("read", path.string(), errno);
    if (child == 0) run_check(to.release(), std::move(crashed), path, check);
    to = {};
    const std::string text = read_to_end(from.get());
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size(); at += words.back().size() + 1)
        words.emplace_back(text.c_str() + at);
    std::vector<Damage> damage;
    for (std::size_t i = 0; i + 3 < words.size(); i += 4)
        damage.push_back({words[i], {std::stoll(words[i + 1]), std::stoll(words[i + 2])}, words[i + 3]});
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {  // sanitizers exit
        crashed.problem = fmt::format("HDF5 crashes while it reads {}: its structure is damaged",
                                      crashed.where == "/" ? "the file" : crashed.where);
        damage.push_back(std::move(crashed));
    }
    return damage;
}

}  // namespace voltpile
