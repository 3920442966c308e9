// The same server over TLS, with a certificate made here.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.h"
#include "http/client.h"
#include "server_fixture.h"

namespace voltpile::http {
namespace {

class TlsServer : public ServerFixture {
  protected:
    TlsServer() {
        const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
        const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
        X509_set_version(certificate.get(), 2);
        ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
        X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
        X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
        X509_set_pubkey(certificate.get(), key.get());
        X509_NAME* const name = X509_get_subject_name(certificate.get());
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"),
                                   -1, -1, 0);
        X509_set_issuer_name(certificate.get(), name);
        X509_EXTENSION* const names =
            X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
        X509_add_ext(certificate.get(), names, -1);
        X509_EXTENSION_free(names);
        X509_sign(certificate.get(), key.get(), EVP_sha256());
        FILE* file = std::fopen(certificate_.c_str(), "w");
        PEM_write_X509(file, certificate.get());
        std::fclose(file);
        file = std::fopen(key_.c_str(), "w");
        PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
        std::fclose(file);
    }

    std::string certificate_ = testing::TempDir() + "tls-" + std::to_string(getpid()) + ".pem";
    std::string key_ = testing::TempDir() + "tls-" + std::to_string(getpid()) + ".key";
};

TEST_F(TlsServer, AnswersOverTlsAndKeepsTheConnection) {
    ServerSettings settings;
    settings.tls_certificate = certificate_;
    settings.tls_key = key_;
    serve(settings);
    EXPECT_TRUE(server_->url().starts_with("https://127.0.0.1:"));
    RawClient plain = client();
    plain.send("GET /hello HTTP/1.1\r\nHost: t\r\n\r\n");
    EXPECT_TRUE(plain.closed_by_server());

    RawClient one = client();
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                    SSL_CTX_free);
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), SSL_free);
    SSL_set_fd(tls.get(), one.socket_number());
    ASSERT_EQ(SSL_connect(tls.get()), 1);
    const std::string request = "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n";
    for (int i = 0; i < 2; ++i) {
        SSL_write(tls.get(), request.data(), static_cast<int>(request.size()));
        std::string response;
        while (!response.ends_with("hello")) {
            char bytes[1024];
            const int count = SSL_read(tls.get(), bytes, sizeof bytes);
            ASSERT_GT(count, 0);
            response.append(bytes, static_cast<std::size_t>(count));
        }
        EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n"));
    }
}

TEST_F(TlsServer, ClientsAcceptTrustedCertificatesOnly) {
    ServerSettings settings;
    settings.tls_certificate = certificate_;
    settings.tls_key = key_;
    serve(settings);
    ClientSettings client;
    client.server = {true, "127.0.0.1", server_->port(), ""};
    client.trusted = certificate_;
    const ClientRequest hello{"GET", "/hello", {}, ""};
    EXPECT_EQ(fetch(client, hello).body, "hello");
    client.server.host = "localhost";
    EXPECT_EQ(fetch(client, hello).body, "hello");
    const auto message = [&]() -> std::string {
        try {
            fetch(client, hello);
        } catch (const Error& error) {
            return error.what();
        }
        return "none";
    };
    client.server.host = "127.0.0.2";  // the same server, but not in its certificate
    settings.host = "0.0.0.0";
    serve(settings);
    client.server.port = server_->port();
    EXPECT_NE(message().find("/hello: cannot connect: certificate verify failed"), std::string::npos)
        << message();
    client.server.host = "127.0.0.1";
    client.trusted = "";  // only those of the system
    EXPECT_NE(message().find("certificate verify failed"), std::string::npos) << message();
    client.trusted = "/nowhere/ca.pem";
    EXPECT_EQ(message(), "cannot read /nowhere/ca.pem: No such file or directory");
}

TEST_F(TlsServer, NamesUnusableFiles) {
    const std::string other = testing::TempDir() + "tls-other-" + std::to_string(getpid());
    std::ofstream(other) << "no PEM\n";
    const auto message = [](const std::string& certificate, const std::string& key) -> std::string {
        ServerSettings settings;
        settings.port = 0;
        settings.tls_certificate = certificate;
        settings.tls_key = key;
        try {
            const Server server(settings, Router());
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
            return error.what();
        }
        return "none";
    };
    EXPECT_EQ(message("/nowhere/cert", key_), "cannot read /nowhere/cert: No such file or directory");
    EXPECT_EQ(message(certificate_, "/nowhere/key"), "cannot read /nowhere/key: No such file or directory");
    EXPECT_NE(message(other, key_).find(other + " is not a certificate"), std::string::npos);
    EXPECT_NE(message(certificate_, other).find(other + " is not the unencrypted private key"),
              std::string::npos);
    EXPECT_NE(message(certificate_, "").find("TLS needs"), std::string::npos);
}

}  // namespace
}  // namespace voltpile::http
