#include "http/tls_context.h"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <boost/asio/ssl/context.hpp>
#include <cerrno>

#include "base/error.h"

namespace voltpile::http {
namespace {

void check_readable(const std::string& path) {
    if (access(path.c_str(), R_OK) != 0) throw FileError("read", path, errno, ExitCode::BadInput);
}

}  // namespace

TlsContext::TlsContext(const std::string& certificate, const std::string& key)
    : context_(std::make_unique<boost::asio::ssl::context>(boost::asio::ssl::context::tls_server)) {
    check_readable(certificate);
    check_readable(key);
    SSL_CTX* native = context_->native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    boost::system::error_code error;
    context_->use_certificate_chain_file(certificate, error);
    if (error)
        throw JobError(fmt::format("{} is not a certificate in PEM: {}", certificate, error.message()));
    // Never asks a terminal for the key's password.
    context_->set_password_callback(
        [](std::size_t, boost::asio::ssl::context::password_purpose) { return std::string(); });
    context_->use_private_key_file(key, boost::asio::ssl::context::pem, error);
    if (error)
        throw JobError(fmt::format("{} is not the unencrypted private key of {}, in PEM: {}", key,
                                   certificate, error.message()));
}

TlsContext::TlsContext(const std::string& trusted)
    : context_(std::make_unique<boost::asio::ssl::context>(boost::asio::ssl::context::tls_client)) {
    SSL_CTX_set_min_proto_version(context_->native_handle(), TLS1_2_VERSION);
    context_->set_verify_mode(boost::asio::ssl::verify_peer);
    boost::system::error_code error;
    if (trusted.empty()) {
        context_->set_default_verify_paths(error);  // without them, no certificate will do
        return;
    }
    check_readable(trusted);
    context_->load_verify_file(trusted, error);
    if (error) throw JobError(fmt::format("{} is not a certificate in PEM: {}", trusted, error.message()));
}

TlsContext::~TlsContext() = default;

}  // namespace voltpile::http
