// What Slurm's commands print, as values. Reads `scontrol --oneliner show ...`, which has looked the same for
// a dozen versions; the --json of 22.05 is there for some commands only and changes from version to version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

// One line of `scontrol --oneliner show node|partition|job`: KEY=VALUE, where values may hold blanks
// ("OS=Linux 6.1 #1 SMP") and further "=" ("CfgTRES=cpu=4"). Of a key that comes twice the first counts.
class SlurmRecord {
  public:
    explicit SlurmRecord(std::string_view line);

    // "" where the key is missing or "(null)".
    const std::string& text(const std::string& key) const;
    // 0 where the key is missing or no number.
    std::int64_t integer(const std::string& key) const;

  private:
    std::map<std::string, std::string> values_;
};

std::vector<SlurmRecord> parse_records(std::string_view output);

// `scontrol show config`: "MaxArraySize            = 1001".
std::optional<std::int64_t> config_integer(std::string_view output, std::string_view key);

// Seconds of Slurm's durations: "MIN", "MIN:SEC", "H:MIN:SEC", "D-H", "D-H:MIN", "D-H:MIN:SEC"; "UNLIMITED"
// and "infinite" are infinity. Nothing if it is none of these.
std::optional<double> parse_slurm_time(std::string_view text);

// "02:30:00", "1-06:00:00", "UNLIMITED": as sbatch takes it. Rounded up to whole seconds.
std::string slurm_time_text(double seconds);

// Kinds of GPUs on a node, out of "gpu:v100:4(S:0-1),gpu:2,nvme:1(S:0)". type: "" if Slurm was told none.
struct GresGpus {
    std::string type;
    int count = 0;
    std::vector<int> sockets;  // near them; empty if Slurm does not know
};
std::vector<GresGpus> parse_gres(std::string_view text);

// Without white space at its ends.
std::string trimmed(std::string_view text);

}  // namespace voltpile
