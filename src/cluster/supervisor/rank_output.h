// What the ranks of an attempt print: passed on to the user, and kept in a file for each rank.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace voltpile {

struct RankLine {
    std::optional<int> rank;  // nothing: the launcher's own message
    bool is_error = false;    // from stderr, as far as the launcher says
    std::string text;
};

// Splits a line of `mpirun --tag-output` ("[1,3]<stderr>:text") or `srun --label` ("3: text").
RankLine parse_rank_line(const std::string& line);

// Prints a line to stdout. A reader that has left, or a full disk, loses it without ending the job.
void print_line(const std::string& line);

class RankOutput {
  public:
    // folder: for rank-N.log and launcher.log; exists. alone: there is one rank and no launcher.
    RankOutput(std::filesystem::path folder, bool alone) : folder_(std::move(folder)), alone_(alone) {}

    // Prints the line and writes it to its file. A disk that is full loses the file's lines only.
    void take(const std::string& line);

    // Returns the last message that begins with "error", or "".
    const std::string& last_error() const { return last_error_; }

  private:
    std::filesystem::path folder_;
    bool alone_;
    std::string last_error_;
    std::map<std::string, std::ofstream> files_;
};

}  // namespace voltpile
