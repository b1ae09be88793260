#include "ledger.hpp"

#include "resp/scripts.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>

namespace redlock::test {

using core::bit;
using core::node_mask;

/// The request of a command about one lock.
struct meaning {
    enum class purpose { set, take, extend, release };

    purpose what;
    std::string_view token;
    base::nanos ttl{};
};

namespace {

base::nanos milliseconds_of(const std::string& text)
{
    return std::chrono::milliseconds{std::stoll(text)};
}

using meanings = std::vector<meaning>;

/// For EVALSHA and EVAL: digest or text, the number of keys, the keys, and the arguments.
meanings meanings_of_script(const words& w)
{
    const auto runs = [&w](const resp::script& s) {
        return w.at(1) == (w[0] == "EVAL" ? s.text : s.sha1);
    };
    const std::size_t keys = std::stoul(w.at(2));
    const std::size_t arguments = 3 + keys;
    if (runs(resp::take_script)) {
        return {{meaning::purpose::take, w.at(arguments), milliseconds_of(w.at(arguments + 1))}};
    }
    if (runs(resp::extend_script) || runs(resp::extend_all_script)) {
        return {{meaning::purpose::extend, w.at(arguments), milliseconds_of(w.at(arguments + 1))}};
    }
    if (runs(resp::release_script) || runs(resp::release_all_script)) {
        return {{meaning::purpose::release, w.at(arguments)}};
    }
    meanings all;
    for (std::size_t i = 0; i < keys; ++i) {
        if (runs(resp::release_batch_script)) {
            all.push_back({meaning::purpose::release, w.at(arguments + i)});
        } else if (runs(resp::extend_batch_script)) {
            all.push_back({meaning::purpose::extend, w.at(arguments + i),
                           milliseconds_of(w.at(arguments + keys + i))});
        }
    }
    return all;
}

/// The requests of a command, one for each lock that it is about.
meanings meanings_of(const words& w)
{
    if (w[0] == "SET" && w.at(1).find("redlock:pending:") != std::string::npos) {
        return {};
    }
    if (w[0] == "SET") {
        return {{meaning::purpose::set, w.at(2), milliseconds_of(w.at(5))}};
    }
    if (w[0] == "DELIFEQ" || w[0] == "DELEX") {
        return {{meaning::purpose::release, w.back()}};
    }
    return w[0] == "EVALSHA" || w[0] == "EVAL" ? meanings_of_script(w) : meanings{};
}

/// The answer about the lock with this number.
answer::kind answer_about(std::size_t number, const answer& all, std::size_t locks)
{
    if (all.what != answer::kind::digits) {
        return all.what;
    }
    if (all.digits.size() != locks) {
        return answer::kind::other;
    }
    return all.digits[number] == '1' ? answer::kind::one : answer::kind::zero;
}

}  // namespace

std::size_t locks_of(const words& command)
{
    return std::max<std::size_t>(meanings_of(command).size(), 1);
}

base::instant validity_end(base::instant t0, base::nanos ttl, int drift_percent)
{
    return t0 + ttl - ttl / 100 * drift_percent - std::chrono::milliseconds{2};
}

void ledger::note_request(unsigned node, const request& r)
{
    for (const meaning& m : meanings_of(r.command)) {
        if (m.what == meaning::purpose::release) {
            continue;
        }
        of_key& k = keys_[std::string(m.token)];
        vote& v = k.votes.at(node);
        if (m.what != meaning::purpose::extend || !k.taken_up_besides) {
            v.asked_until = std::max(v.asked_until, r.at + m.ttl);
        }
        if (m.what != meaning::purpose::extend) {
            k.asked |= bit(node);
            k.first = k.first.value_or(r.at);
        }
    }
}

void ledger::note_answer(unsigned node, const request& r, const answer& a)
{
    const meanings all = meanings_of(r.command);
    for (std::size_t i = 0; i < all.size(); ++i) {
        note_answer(node, r.at, all[i], answer_about(i, a, all.size()));
    }
}

void ledger::note_answer(unsigned node, base::instant asked, const meaning& m, answer::kind a)
{
    using kind = answer::kind;
    of_key& k = keys_[std::string(m.token)];
    vote& v = k.votes.at(node);
    const bool extends = m.what == meaning::purpose::extend && a == kind::one;
    if (m.what == meaning::purpose::set || m.what == meaning::purpose::take) {
        k.answered |= bit(node);
    }
    const bool grants = (m.what == meaning::purpose::set && a == kind::ok) ||
                        (m.what == meaning::purpose::take && a == kind::taken);
    if (grants || extends) {
        k.granted |= bit(node);
        v.backs = std::max(v.backs, validity_end(asked, m.ttl, drift_percent_));
    }
    if (extends) {
        v.extended = std::max(v.extended, asked);
    }
    if (m.what == meaning::purpose::release &&
        (a == kind::one || a == kind::zero || a == kind::error)) {
        k.released |= bit(node);
    }
    if ((m.what == meaning::purpose::extend || m.what == meaning::purpose::release) &&
        (a == kind::zero || a == kind::error)) {
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
