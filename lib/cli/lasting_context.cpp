#include "cli/lasting_context.hpp"

#include <utility>
#include <vector>

namespace redlock::cli {
namespace {

/// Never destroyed.
std::vector<std::unique_ptr<boost::asio::io_context>>& those_left()
{
    static auto& all = *new std::vector<std::unique_ptr<boost::asio::io_context>>;
    return all;
}

}  // namespace

lasting_context::lasting_context() : context_(std::make_unique<boost::asio::io_context>(1)) {}

lasting_context::~lasting_context()
{
    if (!context_->stopped()) {
        those_left().push_back(std::move(context_));
    }
}

}  // namespace redlock::cli
