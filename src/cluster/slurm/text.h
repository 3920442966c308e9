// Parses the output of Slurm's commands. `scontrol --oneliner show ...` has had the same format for a dozen
// versions; --json (22.05) exists for some commands only and changes between versions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

// One line of `scontrol --oneliner show node|partition|job`: KEY=VALUE pairs. Values may contain spaces
// ("OS=Linux 6.1 #1 SMP") and "=" ("CfgTRES=cpu=4"). The first of several equal keys counts.
class SlurmRecord {
  public:
    explicit SlurmRecord(std::string_view line);

    // Returns "" if the key is missing or "(null)".
    const std::string& text(const std::string& key) const;
    // Returns 0 if the key is missing or not a number.
    std::int64_t integer(const std::string& key) const;

  private:
    std::map<std::string, std::string> values_;
};

std::vector<SlurmRecord> parse_records(std::string_view output);

// Returns a number of `scontrol show config` ("MaxArraySize            = 1001"), or nothing.
std::optional<std::int64_t> config_integer(std::string_view output, std::string_view key);

// Parses a Slurm duration into seconds: "MIN", "MIN:SEC", "H:MIN:SEC", "D-H", "D-H:MIN", "D-H:MIN:SEC", or
// "UNLIMITED" and "infinite" (infinity). Returns nothing for other texts.
std::optional<double> parse_slurm_time(std::string_view text);

// Returns a duration for sbatch, rounded up to seconds: "02:30:00", "1-06:00:00", "UNLIMITED".
std::string slurm_time_text(double seconds);

// GPUs of one type on a node.
struct GresGpus {
    std::string type;  // "" if the site configured none
    int count = 0;
    std::vector<int> sockets;  // near these GPUs; empty: unknown
};

// Returns the GPUs in a Gres value such as "gpu:v100:4(S:0-1),gpu:2,nvme:1(S:0)".
std::vector<GresGpus> parse_gres(std::string_view text);

// Returns `text` without white space at its ends.
std::string trimmed(std::string_view text);

}  // namespace voltpile
