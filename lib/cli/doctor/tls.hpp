#pragma once

#include "base/settings.hpp"
#include "engine/link.hpp"

#include <memory>
#include <string>

namespace redlock::cli {

/**
 * The trust of one node's TLS link, as every client has it, that remembers what was wrong with a
 * certificate: the error of a connection says no more than that something was.
 */
class doctor_tls {
public:
    /// @throws boost::system::system_error with `errc::invalid_config`, naming the field, when a
    /// file is of no use.
    doctor_tls(const base::settings& s, const base::address& node);
    // OpenSSL knows where it is.
    doctor_tls(const doctor_tls&) = delete;
    doctor_tls& operator=(const doctor_tls&) = delete;

    [[nodiscard]] const std::shared_ptr<engine::tls_context>& context() const noexcept
    {
        return context_;
    }
    /// What is wrong with the certificate; empty: nothing, or none was seen.
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
    void set_fault(std::string fault) { fault_ = std::move(fault); }
    /// The name that the certificate has to be for.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    std::string name_;
    std::string fault_;
    std::shared_ptr<engine::tls_context> context_;
};

}  // namespace redlock::cli
