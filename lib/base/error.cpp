#include <redlock/error.hpp>

#include <cstddef>
#include <string>

namespace redlock {
namespace {

const char* text_of(errc e) noexcept
{
    switch (e) {
        case errc::contended: return "The resource is locked by another owner";
        case errc::unavailable: return "No majority of the nodes gave an answer that counts";
        case errc::expired:
            return "The nodes granted the lock too late: too little validity is left";
        case errc::lost: return "The lock is lost";
        case errc::timed_out: return "The timeout passed before the lock was acquired";
        case errc::not_held: return "No lock is held";
        case errc::closed: return "The client is closed";
        case errc::overloaded: return "Too many operations are in flight";
        case errc::too_many_waiters: return "Too many acquires wait for their turn";
        case errc::no_entropy: return "The operating system gave no random bytes";
        case errc::held_in_part:
            return "The reentrant owner holds some of the resources by another lock";
        case errc::no_fencing_token:
            return "The reentrant owner holds the resource by a lock without a fencing token";
        case errc::invalid_resource:
            return "resource: the name is empty, too long or reserved for the library";
        case errc::invalid_ttl: return "ttl: too short for the node timeout or too long";
        case errc::invalid_timeout: return "timeout: negative";
        case errc::invalid_max_attempts: return "max_attempts: zero";
        case errc::invalid_max_outage: return "max_outage: negative";
        case errc::invalid_min_validity:
            return "min_validity: negative or more than the ttl can give";
        case errc::invalid_max_hold: return "keep_alive.max_hold: shorter than the ttl";
        case errc::invalid_label: return "label: longer than 256 bytes, or with control characters";
        case errc::duplicate_resource: return "resource: named twice in one lock";
        case errc::invalid_owner_token:
            return "The owner token is malformed or the lock belongs to another client";
        case errc::invalid_config: return "The configuration is invalid";
    }
    return "Unknown error";
}

const char* text_of(condition c) noexcept
{
    switch (c) {
        case condition::invalid_argument: return "An argument is invalid";
        case condition::not_acquired: return "The lock was not acquired";
    }
    return "Unknown condition";
}

bool holds(condition c, errc e) noexcept
{
    switch (e) {
        case errc::contended:
        case errc::unavailable:
        case errc::expired:
        case errc::timed_out: return c == condition::not_acquired;
        case errc::invalid_resource:
        case errc::invalid_ttl:
        case errc::invalid_timeout:
        case errc::invalid_max_attempts:
        case errc::invalid_max_outage:
        case errc::invalid_min_validity:
        case errc::invalid_max_hold:
        case errc::invalid_label:
        case errc::duplicate_resource:
        case errc::invalid_owner_token:
        case errc::invalid_config: return c == condition::invalid_argument;
        case errc::lost:
        case errc::not_held:
        case errc::closed:
        case errc::overloaded:
        case errc::too_many_waiters:
        case errc::no_entropy:
        case errc::held_in_part:
        case errc::no_fencing_token: return false;
    }
    return false;
}

// The ids are fixed, so that two copies of the library in one program agree which category is
// which.
constexpr boost::ulong_long_type errc_id = 0x9d3c1f0a6b52e871;
constexpr boost::ulong_long_type condition_id = 0x4e80a7d5c3196fb2;

class errc_category final : public boost::system::error_category {
public:
    constexpr errc_category() noexcept : error_category{errc_id} {}

    const char* name() const noexcept override { return "redlock"; }

    std::string message(int value) const override { return text_of(static_cast<errc>(value)); }

    const char* message(int value, char*, std::size_t) const noexcept override
    {
        return text_of(static_cast<errc>(value));
    }
};

class condition_category_type final : public boost::system::error_category {
public:
    constexpr condition_category_type() noexcept : error_category{condition_id} {}

    const char* name() const noexcept override { return "redlock.condition"; }

    std::string message(int value) const override { return text_of(static_cast<condition>(value)); }

    const char* message(int value, char*, std::size_t) const noexcept override
    {
        return text_of(static_cast<condition>(value));
    }

    bool equivalent(const error_code& code, int value) const noexcept override
    {
        return code.category() == redlock::error_category() &&
               holds(static_cast<condition>(value), static_cast<errc>(code.value()));
    }
};

}  // namespace

// Never destroyed, because error codes may outlive every static object of the program.
const boost::system::error_category& error_category() noexcept
{
    static constexpr errc_category instance;
    return instance;
}

const boost::system::error_category& condition_category() noexcept
{
    static constexpr condition_category_type instance;
    return instance;
}

}  // namespace redlock
