#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <iterator>
#include <vector>

namespace redlock::engine {

/// The addresses of a node's name that a client has used and tried, also between connections.
/// Servers at several addresses may differ, so a client stays with the one that it used.
class known_addresses {
public:
    using endpoint = boost::asio::ip::tcp::endpoint;

    /// Sorts the addresses into the order in which to try them: first the one that the client used
    /// last, then the addresses that it has not tried since. After all of them the client starts
    /// again.
    void sort(std::vector<endpoint>& found)
    {
        std::vector<endpoint> distinct;
        for (const endpoint& e : found) {
            if (std::ranges::find(distinct, e) == distinct.end()) {
                distinct.push_back(e);  // a lookup may give an address twice
            }
        }
        tried_.reserve(tried_.size() + distinct.size());
        if (std::ranges::all_of(distinct, [this](const endpoint& e) { return has_tried(e); })) {
            tried_.clear();
        }
        found_.clear();
        for (const unsigned rank : {0U, 1U, 2U}) {
            std::ranges::copy_if(distinct, std::back_inserter(found_),
                                 [&](const endpoint& e) { return rank_of(e) == rank; });
        }
        found = found_;
    }

    /// The client tries this one of the sorted addresses now.
    void note_try(const endpoint& e) noexcept
    {
        if (!has_tried(e)) {
            tried_.push_back(e);  // `sort` has reserved the memory
        }
        current_ = e;
    }

    /// The client used the server at the address that it tried last.
    void note_use() noexcept
    {
        used_ = current_;
        tried_.clear();
    }

    /// Makes the address that the client tried last the first one again.
    void try_again() noexcept
    {
        used_ = current_;
        std::erase(tried_, current_);
    }

    [[nodiscard]] bool has_untried() const noexcept
    {
        return !std::ranges::all_of(found_, [this](const endpoint& e) { return has_tried(e); });
    }

private:
    [[nodiscard]] unsigned rank_of(const endpoint& e) const noexcept
    {
        return has_tried(e) ? 2 : e == used_ ? 0 : 1;
    }

    [[nodiscard]] bool has_tried(const endpoint& e) const noexcept
    {
        return std::ranges::find(tried_, e) != tried_.end();
    }

    endpoint used_;
    endpoint current_;
    /// The addresses that the last lookup gave, in the order in which to try them.
    std::vector<endpoint> found_;
    /// Since the client used one.
    std::vector<endpoint> tried_;
};

}  // namespace redlock::engine
