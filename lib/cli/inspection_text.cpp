#include "cli/inspection_text.hpp"

#include "base/text.hpp"
#include "cli/printing.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::cli {
namespace {

/// A letter that identifies a key group. The owners themselves are secret.
std::string letter_of(unsigned key_group)
{
    constexpr unsigned letters = 26;
    const std::string last(1, static_cast<char>('A' + key_group % letters));
    return key_group < letters ? last : 'A' + last;
}

/// The number of nodes that have a key of each key group.
std::vector<unsigned> keys_of_groups(const report& r)
{
    std::vector<unsigned> keys;
    for (const auto& node : r.nodes) {
        if (node.key_group) {
            keys.resize(std::max<std::size_t>(keys.size(), *node.key_group + 1));
            ++keys[*node.key_group];
        }
    }
    return keys;
}

/// The name of a key group. An inspection can name this lock's own group only if it was given the
/// owner token.
std::string name_of(unsigned key_group, const inspection& found)
{
    return found.own_group == key_group ? "this lock itself" : "group " + letter_of(key_group);
}

/// ": group A has a key on 1, group B on 2". Empty if there is only one group.
std::string votes_text(const std::vector<unsigned>& keys, const inspection& found)
{
    std::string out;
    for (unsigned i = 0; i < keys.size() && keys.size() > 1; ++i) {
        out += (i == 0 ? ": " : ", ") + name_of(i, found);
        out += (i == 0 ? " has a key on " : " on ") + std::to_string(keys[i]);
    }
    return out;
}

std::ptrdiff_t usable_in(const report& r)
{
    return std::ranges::count_if(
        r.nodes, [](const node_report& node) { return !is_out_of_use(node.outcome); });
}

bool has_endless_key(const report& r)
{
    return std::ranges::any_of(r.nodes, &node_report::never_ends);
}

bool has_endless_key(const report& r, const std::optional<unsigned>& key_group)
{
    return std::ranges::any_of(r.nodes, [&](const node_report& node) {
        return node.never_ends && node.key_group == key_group;
    });
}

/// Whether the resource is blocked: no group has a majority, and too few nodes are without a key
/// for another client to get one.
bool is_blocked(const inspection& found, const report& r)
{
    const auto keys = std::ranges::count(r.nodes, node_outcome::granted, &node_report::outcome);
    const auto others = r.nodes.size() - static_cast<std::size_t>(keys);
    return found.state == lock_state::free && others < r.nodes.size() / 2 + 1;
}

const char* word_for(const inspection& found, const report& r)
{
    switch (found.state) {
        case lock_state::free: return is_blocked(found, r) ? "blocked" : "free";
        case lock_state::held: return "held";
        case lock_state::unknown: return "unknown";
    }
    return "?";
}

/// The effect of these keys on other clients.
std::string blocking_text(const report& r)
{
    std::string out = "; these keys keep other clients out";
    if (has_endless_key(r)) {
        out +=
            ", and the keys without a ttl never expire: another program wrote them; if they are "
            "not data, delete them (redis-cli DEL)";
    }
    return out;
}

/// Why the lock is free although nodes have keys, or why its state is unknown. Empty for a held
/// lock.
std::string reason_text(const inspection& found, const report& r)
{
    const auto nodes = std::to_string(r.nodes.size()) + (r.nodes.size() == 1 ? " node" : " nodes");
    const auto keys = keys_of_groups(r);
    switch (found.state) {
        case lock_state::held: return {};
        case lock_state::free:
            return keys.empty()
                       ? std::string()
                       : "no group has a majority of the " + nodes + votes_text(keys, found) +
                             (is_blocked(found, r) ? blocking_text(r) : "");
        case lock_state::unknown: {
            const auto usable = usable_in(r);
            const bool is_majority = 2 * usable > std::ssize(r.nodes);
            return std::to_string(usable) + " of " + nodes + " can be used" +
                   (is_majority ? ", and the answers of the others would decide"
                                : ", which is not a majority") +
                   votes_text(keys, found);
        }
    }
    return {};
}

/// A line about the clients in the queue. Empty if no client waits, or if that is unknown.
std::string waiters_line(const inspection& found)
{
    const std::size_t waiting = found.clients_waiting.value_or(0);
    if (waiting == 0) {
        return {};
    }
    const bool is_one = waiting == 1;
    std::string out = "  " + std::to_string(waiting) + (is_one ? " client waits" : " clients wait");
    if (found.first_waits_for) {
        out += is_one ? ", for " : ", the first for ";
        out += seconds_text(*found.first_waits_for);
    }
    return out + '\n';
}

/// A node's answer about the key, in words.
std::string word_for(const node_report& node, const inspection& found, bool one_of_several)
{
    switch (node.outcome) {
        case node_outcome::granted:
            if (node.key_group && node.key_group == found.own_group) {
                return "has this lock's own key";
            }
            return one_of_several && node.key_group
                       ? "has the key of group " + letter_of(*node.key_group)
                       : "has the key";
        case node_outcome::refused: return "has no key";
        default: return to_string(node.outcome);
    }
}

}  // namespace

std::string inspection_text(const std::string& resource, const inspection& found, const report& r)
{
    const auto keys = keys_of_groups(r);
    const bool several = keys.size() > 1;
    std::string out = base::printable(resource) + ": " + word_for(found, r);
    if (found.state == lock_state::held) {
        const bool is_own = found.holder_group && found.holder_group == found.own_group;
        out += (several || is_own) && found.holder_group
                   ? " by " + name_of(*found.holder_group, found)
                   : "";
        out += found.owner_known ? "" : " by another kind of lock";
        out += found.holder_label.empty() || is_own ? "" : " by " + found.holder_label;
        if (found.remaining) {
            out += ", for " + seconds_text(*found.remaining) + " at least";
        } else if (has_endless_key(r, found.holder_group)) {
            out += without_an_end(!found.holder_label.empty());
        }
    } else if (const auto reason = reason_text(found, r); !reason.empty()) {
        out += ": " + reason;
        out += found.state == lock_state::unknown ? "; `redlock doctor` says what to do" : "";
    }
    out += '\n' + waiters_line(found);
    for (const auto& node : r.nodes) {
        out += in_column(node, r) + word_for(node, found, several);
        out += node.never_ends ? ", without an end" : "";
        if (node.holder_ttl) {
            out += " for " + seconds_text(*node.holder_ttl);
        }
        if (node.quarantine) {
            out += " for " + seconds_text(*node.quarantine);
        }
        out += node.error.empty() ? "\n" : ": " + node.error + remedy_for(node.error) + '\n';
    }
    return out;
}

nlohmann::json inspection_json(const std::string& resource, const inspection& found,
                               const report& r)
{
    auto nodes = to_json(r);
    for (std::size_t i = 0; i < r.nodes.size(); ++i) {
        const node_outcome outcome = r.nodes[i].outcome;
        if (outcome == node_outcome::granted || outcome == node_outcome::refused) {
            nodes[i]["has_key"] = outcome == node_outcome::granted;
        }
        if (r.nodes[i].key_group) {
            nodes[i]["key_group"] = letter_of(*r.nodes[i].key_group);
            if (r.nodes[i].key_group == found.own_group) {
                nodes[i]["own"] = true;
            }
        }
    }
    const auto keys = keys_of_groups(r);
    auto key_groups = nlohmann::json::object();
    for (unsigned i = 0; i < keys.size(); ++i) {
        key_groups[letter_of(i)] = keys[i];
    }
    nlohmann::json out{{"resource", resource},
                       {"state", word_for(found, r)},
                       {"owner_known", found.owner_known},
                       {"agreeing", found.agreeing},
                       {"key_groups", std::move(key_groups)},
                       {"nodes", std::move(nodes)}};
    if (found.holder_group) {
        out["holder_group"] = letter_of(*found.holder_group);
    }
    if (const auto reason = reason_text(found, r); !reason.empty()) {
        out["reason"] = reason;
    }
    if (!found.holder_label.empty()) {
        out["holder_label"] = found.holder_label;
    }
    if (found.remaining) {
        out["remaining_ms"] = found.remaining->count();
    }
    if (found.clients_waiting) {
        out["clients_waiting"] = *found.clients_waiting;
    }
    if (found.first_waits_for) {
        out["first_waits_for_ms"] = found.first_waits_for->count();
    }
    return out;
}

}  // namespace redlock::cli
