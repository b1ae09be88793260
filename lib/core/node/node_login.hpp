#pragma once

#include "base/address.hpp"
#include "base/login.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace redlock::core {

/// User and password for the connections to one node. They come from the node's URL, or from the
/// credentials provider for the present connection.
class node_login {
public:
    explicit node_login(const base::address& node) noexcept : node_(&node) {}

    /// Uses `given` instead of the login in the URL.
    void use(const base::login& given) { given_ = given; }
    /// Overwrites the login that was given.
    void forget() noexcept { given_.reset(); }

    [[nodiscard]] const std::string& user() const noexcept
    {
        return has_given_user() ? given_->user : node_->user;
    }
    [[nodiscard]] std::string_view password() const noexcept
    {
        return (given_ ? given_->password : node_->password).view();
    }
    /// Without user and password, the client does not log in.
    [[nodiscard]] bool empty() const noexcept { return user().empty() && password().empty(); }

private:
    /// A password that was given without a user is for the user of the URL.
    [[nodiscard]] bool has_given_user() const noexcept
    {
        return given_ && (!given_->user.empty() || given_->password.view().empty());
    }

    const base::address* node_;
    std::optional<base::login> given_;
};

}  // namespace redlock::core
