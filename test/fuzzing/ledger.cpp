#include "ledger.hpp"

#include "resp/scripts.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>

namespace redlock::test {

using core::bit;
using core::node_mask;

namespace {

enum class purpose { set, take, extend, release, none };

struct meaning {
    purpose what = purpose::none;
    std::string_view token;
    base::nanos ttl{};
};

base::nanos milliseconds_of(const std::string& text)
{
    return std::chrono::milliseconds{std::stoll(text)};
}

/// For EVALSHA and EVAL: digest or text, the number of keys, the keys, and the arguments.
meaning meaning_of_script(const words& w)
{
    const auto runs = [&w](const resp::script& s) {
        return w.at(1) == (w[0] == "EVAL" ? s.text : s.sha1);
    };
    const std::size_t arguments = 3 + std::stoul(w.at(2));
    if (runs(resp::take_script)) {
        return {purpose::take, w.at(arguments), milliseconds_of(w.at(arguments + 1))};
    }
    if (runs(resp::extend_script) || runs(resp::extend_all_script)) {
        return {purpose::extend, w.at(arguments), milliseconds_of(w.at(arguments + 1))};
    }
    if (runs(resp::release_script) || runs(resp::release_all_script)) {
        return {purpose::release, w.at(arguments)};
    }
    return {};
}

meaning meaning_of(const words& w)
{
    if (w[0] == "SET" && w.at(1).find("redlock:pending:") != std::string::npos) {
        return {};
    }
    if (w[0] == "SET") {
        return {purpose::set, w.at(2), milliseconds_of(w.at(5))};
    }
    if (w[0] == "DELIFEQ" || w[0] == "DELEX") {
        return {purpose::release, w.back()};
    }
    return w[0] == "EVALSHA" || w[0] == "EVAL" ? meaning_of_script(w) : meaning{};
}

}  // namespace

base::instant validity_end(base::instant t0, base::nanos ttl, int drift_percent)
{
    return t0 + ttl - ttl / 100 * drift_percent - std::chrono::milliseconds{2};
}

void ledger::note_request(unsigned node, const request& r)
{
    const meaning m = meaning_of(r.command);
    if (m.what == purpose::none || m.what == purpose::release) {
        return;
    }
    of_key& k = keys_[std::string(m.token)];
    vote& v = k.votes.at(node);
    if (m.what != purpose::extend || !k.taken_up_besides) {
        v.asked_until = std::max(v.asked_until, r.at + m.ttl);
    }
    if (m.what != purpose::extend) {
        k.asked |= bit(node);
        k.first = k.first.value_or(r.at);
    }
}

void ledger::note_answer(unsigned node, const request& r, answer a)
{
    const meaning m = meaning_of(r.command);
    if (m.what == purpose::none) {
        return;
    }
    of_key& k = keys_[std::string(m.token)];
    vote& v = k.votes.at(node);
    const bool extends = m.what == purpose::extend && a == answer::one;
    if (m.what == purpose::set || m.what == purpose::take) {
        k.answered |= bit(node);
    }
    const bool grants = (m.what == purpose::set && a == answer::ok) ||
                        (m.what == purpose::take && a == answer::taken);
    if (grants || extends) {
        k.granted |= bit(node);
        v.backs = std::max(v.backs, validity_end(r.at, m.ttl, drift_percent_));
    }
    if (extends) {
        v.extended = std::max(v.extended, r.at);
    }
    if (m.what == purpose::release &&
        (a == answer::one || a == answer::zero || a == answer::error)) {
        k.released |= bit(node);
    }
    if ((m.what == purpose::extend || m.what == purpose::release) &&
        (a == answer::zero || a == answer::error)) {
        k.missing |= bit(node);
    }
}

const ledger::of_key* ledger::find(std::string_view token) const
{
    const auto at = keys_.find(token);
    return at == keys_.end() ? nullptr : &at->second;
}

node_mask ledger::granted(std::string_view token) const
{
    const of_key* const k = find(token);
    return k == nullptr ? 0 : k->granted;
}

std::optional<base::instant> ledger::asked_at(std::string_view token) const
{
    const of_key* const k = find(token);
    return k == nullptr ? std::nullopt : k->first;
}

node_mask ledger::outlived(std::string_view token, base::instant now, base::nanos patience) const
{
    const of_key* const k = find(token);
    node_mask all = 0;
    for (unsigned i = 0; k != nullptr && k->first && i < nodes_; ++i) {
        if ((k->answered & bit(i)) == 0) {
            continue;
        }
        const base::instant end = k->votes[i].asked_until;
        const base::nanos drift = (end - *k->first) / 100 * drift_percent_;
        all |= end + drift + patience <= now ? bit(i) : 0;
    }
    return all;
}

bool ledger::extended(std::string_view token, base::instant begun, node_mask doubtful) const
{
    node_mask by = doubtful;
    const of_key* const k = find(token);
    for (unsigned i = 0; k != nullptr && i < nodes_; ++i) {
        by |= k->votes[i].extended >= begun ? bit(i) : 0;
    }
    return is_majority(by);
}

base::instant ledger::backed_until(std::string_view token, node_mask doubtful) const
{
    std::array<base::instant, most_nodes> by_node;
    const of_key* const k = find(token);
    for (unsigned i = 0; i < nodes_; ++i) {
        const bool is_doubtful = (doubtful & bit(i)) != 0;
        const base::instant said = k == nullptr ? base::instant::min() : k->votes[i].backs;
        by_node[i] = is_doubtful ? base::instant::max() : said;
    }
    std::sort(by_node.begin(), by_node.begin() + nodes_, std::greater<>());
    return by_node[nodes_ / 2];
}

bool ledger::is_given_back(std::string_view token, node_mask doubtful) const
{
    const of_key* const k = find(token);
    const node_mask asked = k == nullptr ? 0 : k->asked;
    const node_mask released = k == nullptr ? 0 : k->released;
    return leaves_no_majority(doubtful | released | ~asked);
}

bool ledger::is_lost(std::string_view token, node_mask doubtful) const
{
    const of_key* const k = find(token);
    return leaves_no_majority(doubtful | (k == nullptr ? 0 : k->missing));
}

bool ledger::is_majority(node_mask nodes) const
{
    return static_cast<unsigned>(std::popcount(nodes)) > nodes_ / 2;
}

bool ledger::leaves_no_majority(node_mask without) const
{
    return !is_majority(core::all_nodes(nodes_) & ~without);
}

bool ledger::is_secret(std::string_view digits) const
{
    return std::any_of(keys_.begin(), keys_.end(), [digits](const auto& k) {
        return k.first.find(digits) != std::string::npos;
    });
}

}  // namespace redlock::test
