// Builds a JobSpec from the text of a job file. Nothing else can.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "job/document.h"
#include "job/job_spec.h"
#include "job/key_table.h"
#include "job/override.h"
#include "job/problems.h"

namespace voltpile {

class JobBuilder {
  public:
    // Keeps references to all arguments.
    JobBuilder(const std::string& text, const std::string& path, std::span<const std::string> overrides,
               std::span<const AppSchema> apps);

    // Validates everything. Throws JobError with all problems. Call it once.
    JobSpec build();

  private:
    const AppSchema& choose_app(const std::vector<Override>& overrides);
    void add_frames(const KeyTable& table, const std::function<std::size_t(const KeySpec&)>& length_of);
    void add_refinement(const KeyTable& table);
    void refuse_unknown(const Node& table_node, const std::string& prefix, const KeyTable& table);
    bool read_values(const KeyTable& table);
    std::optional<Value> read_names(const KeySpec& spec);
    void check(const AppSchema& app);
    Origin origin_of(const std::string& path) const;

    std::span<const AppSchema> apps_;
    Problems problems_;
    Node document_;
    JobSpec job_;
    std::vector<std::string> excused_;  // missing keys and tables already reported as misspelled
};

}  // namespace voltpile
