#include "core/node/trouble.hpp"

#include <new>

namespace redlock::core {

void trouble::on_connected()
{
    if (text_ == never_connected) {
        text_ = "connected, but the handshake is not complete yet";
    }
}

void trouble::on_ready() noexcept
{
    text_.clear();
    if (!is_unfit() && is_logged_) {
        log_end();
    } else {
        shared_.log(log_level::debug, {address_.display, ": usable"});
    }
}

void trouble::on_ended(std::string_view reason, log_level level) noexcept
{
    const bool is_news = text_ != reason && unfit_ != reason;
    try {
        text_ = reason;
    } catch (const std::bad_alloc&) {
        text_.clear();
    }
    if (shared_.stopped) {
        return;
    }
    if (is_news) {
        is_logged_ = true;
        shared_.log(level, {address_.display, " is out of use: ", reason});
    } else {
        shared_.log(log_level::debug, {address_.display, ": still out of use: ", reason});
    }
}

void trouble::on_granted() noexcept
{
    unfit_ = {};
    if (is_logged_) {
        log_end();
    }
}

void trouble::log_end() noexcept
{
    is_logged_ = false;
    shared_.log(log_level::info, {address_.display, " is usable again"});
}

}  // namespace redlock::core
