// What the columns of a table of starts are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job/job_spec.h"
#include "job/key_table.h"
#include "nbody/start_table.h"

namespace voltpile::nbody {

// Collects the columns of one table and checks their values.
class TableColumns {
  public:
    explicit TableColumns(const JobSpec& job);

    // Adds the column of one number, named as in a sweep ("position[0].x"). place: where it stands, for
    // errors. Throws JobError if there is no such number or it has a column already.
    void add(const std::string& name, const std::string& place);

    // Adds the columns of all numbers of a key ("position"). Returns false if there is no such key or its
    // value has another shape.
    bool add_all(const std::string& key, const std::vector<std::uint64_t>& shape, const std::string& place);

    // Throws JobError if the value may not stand in the column. place(): called only then.
    void check(std::size_t column, double value, const std::function<std::string()>& place) const;

    const std::vector<int>& numbers() const { return numbers_; }

  private:
    void add(const std::string& key, int element, const std::string& path, const std::string& place);

    const JobSpec& job_;
    KeyTable keys_;
    std::vector<int> numbers_;
    std::vector<const KeySpec*> specs_;
    std::vector<std::string> names_;
};

}  // namespace voltpile::nbody
