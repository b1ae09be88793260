#include "cli/lasting_context.hpp"

#include <utility>
#include <vector>

namespace redlock::cli {
namespace {

/// Contexts that still had work when their owner was destroyed. They are never destroyed.
std::vector<std::unique_ptr<boost::asio::io_context>>& kept_contexts()
{
    static auto& all = *new std::vector<std::unique_ptr<boost::asio::io_context>>;
    return all;
}

}  // namespace

lasting_context::lasting_context() : context_(std::make_unique<boost::asio::io_context>(1)) {}

lasting_context::~lasting_context()
{
    if (!context_->stopped()) {
        kept_contexts().push_back(std::move(context_));
    }
}

}  // namespace redlock::cli
