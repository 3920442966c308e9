#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cluster/result_listing.h"

namespace voltpile::cli {

void add_list(CLI::App& cli, Action& action) {
    CLI::App* list =
        cli.add_subcommand("list", "list the results, unfinished jobs and servers under a folder");
    auto folder = std::make_shared<std::string>(".");
    list->add_option("FOLDER", *folder, "where to look, with all folders below it [the current folder]")
        ->check(some_name());
    list->footer(
        "Prints for each one how much is done, the app, the points of the whole job, the size on disk, the "
        "time\n"
        "since the last change and, while a run is writing, its process and host. Skips hidden folders.\n"
        "Servers, by the address files that jobs of the app serve and --address-file write, have their "
        "address\n"
        "and load.\n"
        "example: voltpile list results");
    list->callback([folder, &action] {
        action = on_first_rank([folder](const Invocation&) {
            const FolderListing found = list_jobs_in(*folder);
            const std::string servers = server_table(found.servers);
            if (servers.empty() || !found.results.empty())
                fmt::print("{}", listing_text(found.results, *folder));
            if (!servers.empty()) fmt::print("{}{}", found.results.empty() ? "" : "\n", servers);
            return ExitCode::Done;
        });
    });
}

}  // namespace voltpile::cli
