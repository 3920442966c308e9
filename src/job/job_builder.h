// Makes a JobSpec out of a document: the one place that may.
#pragma once

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
    // All are kept by reference.
    JobBuilder(const std::string& text, const std::string& path, std::span<const std::string> overrides,
               std::span<const AppSchema> apps);

    // Throws JobError with all problems. To be called once.
    JobSpec build();

  private:
    const AppSchema& choose_app(const std::vector<Override>& overrides);
    void refuse_unknown(const Node& table_node, const std::string& prefix, const KeyTable& table);
    bool read_values(const KeyTable& table);
    void check(const AppSchema& app);
    Origin origin_of(const std::string& path) const;

    std::span<const AppSchema> apps_;
    Problems problems_;
    Node document_;
    JobSpec job_;
    std::vector<std::string> excused_;  // missing keys and tables for which a misspelling has been reported
};

}  // namespace voltpile
