// What one side of a TLS connection needs: a server's certificate and key, or the certificates that a client
// trusts (OpenSSL).
#pragma once

#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace voltpile::http {

class TlsContext {
  public:
    // certificate: a file with the certificate and those that sign it, in PEM; key: its private key. TLS 1.2
    // and newer. Throws JobError that names the file.
    TlsContext(const std::string& certificate, const std::string& key);
    // A client's. trusted: a PEM file with the certificates that may sign the server's; empty: the system's.
    // Throws JobError that names the file.
    explicit TlsContext(const std::string& trusted);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    boost::asio::ssl::context& context() { return *context_; }

  private:
    std::unique_ptr<boost::asio::ssl::context> context_;
};

}  // namespace voltpile::http
