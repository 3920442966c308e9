// Serves the page of `voltpile view` on this machine's loopback address.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace voltpile {

class ViewServer {
  public:
    // port: 0 for a free one. Throws JobError if there is no such result, MachineError if the port is taken.
    ViewServer(const std::filesystem::path& result, int port);
    ~ViewServer();
    ViewServer(const ViewServer&) = delete;
    ViewServer& operator=(const ViewServer&) = delete;

    std::string url() const;  // "http://127.0.0.1:41234/"

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace voltpile
